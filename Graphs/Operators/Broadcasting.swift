import GraphIR
import Tensors

/// The dims of numpy broadcasting. Two different symbols give a `broadcast(a, b)` expression, settled at run time.
func broadcast(_ a: [Dim], _ b: [Dim]) throws -> [Dim] {
    let rank = max(a.count, b.count)
    return try (0..<rank).map { index in
        let x = index < rank - a.count ? 1 : a[index - (rank - a.count)]
        let y = index < rank - b.count ? 1 : b[index - (rank - b.count)]
        do {
            return try Dim.apply(.broadcast, x, y)
        } catch {
            throw OperatorError(.shapeMismatch, "shapes [\(text(a))] and [\(text(b))] do not broadcast")
        }
    }
}

func text(_ dims: [Dim]) -> String { dims.map(\.description).joined(separator: ", ") }

/// An axis counted from the end as one from the start.
func normalized(axis: Int, rank: Int) throws -> Int {
    let result = axis < 0 ? axis &+ rank : axis
    guard result >= 0, result < rank else {
        throw OperatorError(.invalidAttribute, "axis \(axis) is outside a tensor of rank \(rank)")
    }
    return result
}

/// Axes normalised, sorted and without repetition.
func normalized(axes: [Int], rank: Int) throws -> [Int] {
    let result = try axes.map { try normalized(axis: $0, rank: rank) }.sorted()
    guard Set(result).count == result.count else { throw OperatorError(.invalidAttribute, "axes \(axes) name a dimension twice") }
    return result
}

/// - Throws: `OperatorError` where the two dims cannot be equal.
func requireEqual(_ a: Dim, _ b: Dim, _ what: String) throws {
    if Dim.areEqual(a, b) == false { throw OperatorError(.shapeMismatch, "\(what): \(a) against \(b)") }
}

/// The more telling of two dims that must be equal: a number before a symbol.
func unified(_ a: Dim, _ b: Dim, _ what: String) throws -> Dim {
    try requireEqual(a, b, what)
    return a.fixedValue != nil ? a : b.fixedValue != nil ? b : a
}
