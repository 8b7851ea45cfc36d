import GraphIR
import Operators
import Tensors

/// Operators that pick or place elements by index.
let indexingRules: [String: OperatorTable.Rule] = [
    "Gather": { try $0.result(Gather(axis: $0.int("axis", default: 0)), $0.input(0), $0.input(1)) },
    "GatherElements": { try $0.result(GatherElements(axis: $0.int("axis", default: 0)), $0.input(0), $0.input(1)) },
    "GatherND": { try $0.result(GatherND(batchDims: $0.int("batch_dims", default: 0)), $0.input(0), $0.input(1)) },
    "ScatterND": scatterND,
    "Trilu": { try $0.result(Trilu(isUpper: $0.flag("upper", default: true)), $0.input(0), diagonal(&$0)) },
    "NonZero": { try $0.result(NonZero(), $0.input(0)) },
    "Compress": compress,
]

private func scatterND(_ n: inout NodeLowering) throws {
    let reduction = try n.string("reduction", default: "none")
    guard reduction == "none" else { throw n.unsupported("reduction = \"\(reduction)\"") }
    try n.result(ScatterND(), n.input(0), n.input(1), n.input(2))
}

/// The diagonal of Trilu as a scalar; the specification also lets it be a vector of one element.
private func diagonal(_ n: inout NodeLowering) throws -> ValueID? {
    guard let k = n.optionalInput(1) else { return nil }
    return n.rank(k) == 1 ? try n.apply(Squeeze(axes: [0]), k) : k
}

/// The slices along an axis (of the flattened input without one) where the condition holds. A short condition drops the rest.
private func compress(_ n: inout NodeLowering) throws {
    var x = try n.input(0)
    let condition = try n.input(1)
    guard n.rank(condition) == 1 else { throw n.error(.shapeMismatch, "its condition has rank \(n.rank(condition)), not 1") }
    var axis = 0
    if let given = try n.int("axis") {
        axis = try n.axis(given, rank: n.rank(x))
    } else {
        x = try n.apply(Reshape(), x, n.integers([-1]))
    }
    let places = try n.apply(Squeeze(axes: [0]), n.apply(NonZero(), condition))
    try n.result(Gather(axis: axis), x, places)
}
