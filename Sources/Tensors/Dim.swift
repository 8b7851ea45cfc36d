/// One dimension of a tensor type: a number, a name for a number that is known at run time (`batch`), or an integer expression
/// over such names (`past + sequence`, `2*batch`).
///
/// Values are kept in a canonical form (a sum of products), so that two dims that are equal as polynomials are equal as
/// values. The same type stands for elements of integer shape tensors, which may be negative.
public struct Dim: Sendable, Hashable {
    /// Sorted, without zero coefficients; the empty sum is 0.
    let terms: [Term]

    struct Term: Sendable, Hashable {
        let coefficient: Int
        /// Sorted; empty for the constant term.
        let factors: [Factor]
    }

    /// A part of a product that has no simpler form.
    indirect enum Factor: Sendable, Hashable {
        case symbol(String)
        case call(Function, Dim, Dim)
    }

    /// Integer functions that are no polynomials.
    public enum Function: String, Sendable, Hashable, CaseIterable {
        /// Division rounding toward minus infinity.
        case floordiv
        /// Division truncating toward zero.
        case truncdiv
        /// Remainder with the sign of the divisor.
        case mod
        case max
        case min
        /// The common size of two dims under numpy broadcasting: equal, or one of them is 1.
        case broadcast
    }

    init(terms: [Term]) { self.terms = terms }

    public static func fixed(_ value: Int) -> Dim {
        Dim(terms: value == 0 ? [] : [Term(coefficient: value, factors: [])])
    }

    public static func symbol(_ name: String) -> Dim {
        Dim(terms: [Term(coefficient: 1, factors: [.symbol(name)])])
    }

    /// The number, when this is one.
    public var fixedValue: Int? {
        if terms.isEmpty { return 0 }
        guard terms.count == 1, terms[0].factors.isEmpty else { return nil }
        return terms[0].coefficient
    }

    /// The name, when this is a single symbol.
    public var symbolName: String? {
        guard terms.count == 1, terms[0].coefficient == 1, terms[0].factors.count == 1,
            case .symbol(let name) = terms[0].factors[0]
        else { return nil }
        return name
    }

    /// The names that occur.
    public var symbols: Set<String> {
        var names: Set<String> = []
        for term in terms {
            for factor in term.factors {
                switch factor {
                case .symbol(let name): names.insert(name)
                case .call(_, let a, let b): names.formUnion(a.symbols.union(b.symbols))
                }
            }
        }
        return names
    }

    /// True where no value of the symbols (sizes, so never negative) makes this negative.
    public var isKnownNonNegative: Bool {
        terms.allSatisfy { term in
            term.coefficient >= 0
                && term.factors.allSatisfy { factor in
                    switch factor {
                    case .symbol: return true
                    case .call(let function, let a, let b):
                        switch function {
                        case .max: return a.isKnownNonNegative || b.isKnownNonNegative
                        case .mod: return b.isKnownNonNegative
                        default: return a.isKnownNonNegative && b.isKnownNonNegative
                        }
                    }
                }
        }
    }

    /// Whether the two are equal for all values of their symbols (true), for none (false), or it depends (nil).
    public static func areEqual(_ a: Dim, _ b: Dim) -> Bool? {
        if a == b { return true }
        guard let difference = try? a - b else { return nil }
        if let value = difference.fixedValue { return value == 0 }
        if let value = a.fixedValue, value < 0, b.isKnownNonNegative { return false }
        if let value = b.fixedValue, value < 0, a.isKnownNonNegative { return false }
        return nil
    }
}

extension Dim: ExpressibleByIntegerLiteral {
    public init(integerLiteral value: Int) { self = .fixed(value) }
}
