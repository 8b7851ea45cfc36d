/// Integer arithmetic on dims. Every operation throws `TensorError` where a coefficient leaves the range of `Int` or an expression
/// grows beyond what any real model has.
extension Dim {
    /// More terms than that come from hostile input only.
    static let maximumTerms = 64
    static let maximumFactors = 16

    public static func + (a: Dim, b: Dim) throws -> Dim {
        if let x = a.fixedValue, let y = b.fixedValue { return .fixed(try checked(x.addingReportingOverflow(y))) }
        return try sum(a.terms + b.terms)
    }

    public static func - (a: Dim, b: Dim) throws -> Dim { try a + (try b * .fixed(-1)) }

    public static func * (a: Dim, b: Dim) throws -> Dim {
        if let x = a.fixedValue, let y = b.fixedValue { return .fixed(try checked(x.multipliedReportingOverflow(by: y))) }
        guard a.terms.count * b.terms.count <= maximumTerms else { throw TensorError("a dimension expression is too large") }
        var products: [Term] = []
        for x in a.terms {
            for y in b.terms {
                guard x.factors.count + y.factors.count <= maximumFactors else {
                    throw TensorError("a dimension expression is too large")
                }
                products.append(
                    Term(
                        coefficient: try checked(x.coefficient.multipliedReportingOverflow(by: y.coefficient)),
                        factors: (x.factors + y.factors).sorted { $0.description < $1.description }))
            }
        }
        return try sum(products)
    }

    /// Applies one of the functions that are no polynomials; folds what it can.
    ///
    /// - Throws: `TensorError` for a division by zero, an overflow, or sizes that do not broadcast.
    public static func apply(_ function: Function, _ a: Dim, _ b: Dim) throws -> Dim {
        if let x = a.fixedValue, let y = b.fixedValue { return .fixed(try evaluate(function, x, y)) }
        switch function {
        case .broadcast:
            if a == b || b == 1 { return a }
            if a == 1 { return b }
            // A size above 1 can only meet itself or 1; which of them shows at run time, and the result is the same.
            if let x = a.fixedValue, x != 0 { return a }
            if let y = b.fixedValue, y != 0 { return b }
            // A size met again, also inside a broadcast that has it already.
            if b.isCall(.broadcast, with: a) { return b }
            if a.isCall(.broadcast, with: b) { return a }
            // min(512, sequence) against sequence: a table of 512 positions. Beyond it sizes do not broadcast at all, so what
            // remains is the sequence.
            if b.isCut(of: a) { return a }
            if a.isCut(of: b) { return b }
        case .max, .min:
            if a == b { return a }
            if let difference = try? a - b, difference.isKnownNonNegative { return function == .max ? a : b }
            if let difference = try? b - a, difference.isKnownNonNegative { return function == .max ? b : a }
        case .floordiv, .truncdiv:
            if b == 1 { return a }
            if let exact = a.dividedExactly(by: b) { return exact }
        case .mod:
            if b == 1 || a.dividedExactly(by: b) != nil { return 0 }
        }
        guard a.depth < 8, b.depth < 8, a.terms.count + b.terms.count <= maximumTerms else {
            throw TensorError("a dimension expression is too large")
        }
        return Dim(terms: [Term(coefficient: 1, factors: [.call(function, a, b)])])
    }

    /// A single call of that function with `operand` as one of its operands.
    private func isCall(_ function: Function, with operand: Dim) -> Bool {
        guard terms.count == 1, terms[0].coefficient == 1, terms[0].factors.count == 1, case .call(function, let a, let b) = terms[0].factors[0]
        else { return false }
        return a == operand || b == operand
    }

    /// `min(bound, size)` with a number above 1 as the bound.
    private func isCut(of size: Dim) -> Bool {
        guard terms.count == 1, terms[0].coefficient == 1, terms[0].factors.count == 1, case .call(.min, let a, let b) = terms[0].factors[0]
        else { return false }
        return (a == size && (b.fixedValue ?? 0) > 1) || (b == size && (a.fixedValue ?? 0) > 1)
    }

    private var depth: Int {
        var depth = 0
        for term in terms {
            for case .call(_, let a, let b) in term.factors { depth = Swift.max(depth, 1 + Swift.max(a.depth, b.depth)) }
        }
        return depth
    }

    /// The quotient as a polynomial, where there is one: `(4ab + 4ac) / (b + c)` is `4a`. The divisor is taken to be nonzero.
    public func dividedExactly(by divisor: Dim) -> Dim? {
        guard let leading = divisor.terms.first else { return nil }
        if divisor.terms.count == 1 { return dividedTermwise(by: leading) }
        // Long division. Each step takes a term that the divisor's first one divides; what is left must come to nothing.
        var quotient: Dim = 0
        var rest = self
        for _ in 0..<Self.maximumFactors where rest != 0 {
            guard let part = rest.terms.lazy.compactMap({ Dim(terms: [$0]).dividedTermwise(by: leading) }).first,
                let sum = try? quotient + part, let product = try? part * divisor, let difference = try? rest - product
            else { return nil }
            (quotient, rest) = (sum, difference)
        }
        return rest == 0 ? quotient : nil
    }

    private func dividedTermwise(by: Term) -> Dim? {
        guard by.coefficient != 0 else { return nil }
        var quotient: [Term] = []
        for term in terms {
            guard term.coefficient != .min || by.coefficient != -1, term.coefficient % by.coefficient == 0 else { return nil }
            var factors = term.factors
            for factor in by.factors {
                guard let index = factors.firstIndex(of: factor) else { return nil }
                factors.remove(at: index)
            }
            quotient.append(Term(coefficient: term.coefficient / by.coefficient, factors: factors))
        }
        return try? Self.sum(quotient)
    }

    /// The value under an assignment of the symbols; nil where one of them is missing.
    ///
    /// - Throws: `TensorError` for a division by zero, an overflow, or sizes that do not broadcast.
    public func evaluate(_ symbols: [String: Int]) throws -> Int? {
        var total = 0
        for term in terms {
            var product = term.coefficient
            for factor in term.factors {
                let value: Int
                switch factor {
                case .symbol(let name):
                    guard let known = symbols[name] else { return nil }
                    value = known
                case .call(let function, let a, let b):
                    guard let x = try a.evaluate(symbols), let y = try b.evaluate(symbols) else { return nil }
                    value = try Self.evaluate(function, x, y)
                }
                product = try Self.checked(product.multipliedReportingOverflow(by: value))
            }
            total = try Self.checked(total.addingReportingOverflow(product))
        }
        return total
    }

    /// Replaces symbols by dims.
    public func substituting(_ replacements: [String: Dim]) throws -> Dim {
        if fixedValue != nil || replacements.isEmpty { return self }
        var total: Dim = 0
        for term in terms {
            var product: Dim = .fixed(term.coefficient)
            for factor in term.factors {
                switch factor {
                case .symbol(let name): product = try product * (replacements[name] ?? .symbol(name))
                case .call(let function, let a, let b):
                    product = try product * Self.apply(function, a.substituting(replacements), b.substituting(replacements))
                }
            }
            total = try total + product
        }
        return total
    }

    private static func evaluate(_ function: Function, _ x: Int, _ y: Int) throws -> Int {
        switch function {
        case .max: return Swift.max(x, y)
        case .min: return Swift.min(x, y)
        case .broadcast:
            if x == y || y == 1 { return x }
            if x == 1 { return y }
            throw TensorError("sizes \(x) and \(y) do not broadcast")
        case .truncdiv, .floordiv, .mod:
            guard y != 0 else { throw TensorError("a dimension expression divides by zero") }
            guard x != .min || y != -1 else { throw TensorError("a dimension expression overflows") }
            if function == .truncdiv { return x / y }
            let remainder = x % y
            let adjust = remainder != 0 && (remainder < 0) != (y < 0)
            return function == .floordiv ? x / y - (adjust ? 1 : 0) : remainder + (adjust ? y : 0)
        }
    }

    private static func checked(_ result: (partialValue: Int, overflow: Bool)) throws -> Int {
        guard !result.overflow else { throw TensorError("a dimension expression overflows") }
        return result.partialValue
    }

    private static func sum(_ terms: [Term]) throws -> Dim {
        var byFactors: [[Factor]: Int] = [:]
        for term in terms {
            byFactors[term.factors] = try checked(byFactors[term.factors, default: 0].addingReportingOverflow(term.coefficient))
        }
        let kept = byFactors.filter { $0.value != 0 }
        guard kept.count <= maximumTerms else { throw TensorError("a dimension expression is too large") }
        // Symbols first in alphabetical order, the constant last: `past + sequence + 1`.
        return Dim(
            terms: kept.map { Term(coefficient: $0.value, factors: $0.key) }.sorted { a, b in
                if a.factors.isEmpty != b.factors.isEmpty { return b.factors.isEmpty }
                return Term.text(a.factors) < Term.text(b.factors)
            })
    }
}
