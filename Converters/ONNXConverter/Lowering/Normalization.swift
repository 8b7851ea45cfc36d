import GraphIR
import Operators
import Tensors

/// Softmax and normalisations.
let normalizationRules: [String: OperatorTable.Rule] = [
    "Softmax": { try softmax(&$0, .softmax) },
    "LogSoftmax": { try softmax(&$0, .log_softmax) },
    "LayerNormalization": layerNormalization,
    "RMSNormalization": rmsNormalization,
    // As onnxruntime's tools write it, in the standard domain though no specification has it.
    "SimplifiedLayerNormalization": rmsNormalization,
    "LpNormalization": lpNormalization,
    "BatchNormalization": batchNormalization,
]

/// Before version 13 the input is a matrix, split at the axis (default 1), and softmax runs over its rows; then along the axis (default -1).
private func softmax(_ n: inout NodeLowering, _ kind: Softmax.Kind) throws {
    try softmax(&n, kind, of: n.input(0), version: n.opset) { n, op, operands in try n.result(op, operands) }
}

/// Softmax of the given version of the standard operator set.
func softmax(
    _ n: inout NodeLowering, _ kind: Softmax.Kind, of x: ValueID, version: Int,
    last: (inout NodeLowering, any Operator, [ValueID?]) throws -> Void
) throws {
    let rank = n.rank(x)
    let axis = try n.axis(n.int("axis", default: version < 13 ? 1 : -1), rank: rank)
    if version >= 13 || axis == rank - 1 { return try last(&n, Softmax(kind, axis: axis), [x]) }
    let matrix = try n.apply(Reshape(), x, n.flattenedShape(x, axis: axis))
    try last(&n, Reshape(), [n.apply(Softmax(kind, axis: 1), matrix), n.sizes(x, 0..<rank)])
}

/// `stash_type` names the type of the intermediate results; they are f32 at least in any case.
private func layerNormalization(_ n: inout NodeLowering) throws {
    n.ignore("stash_type")
    let x = try n.input(0)
    let axis = try n.axis(n.int("axis", default: -1), rank: n.rank(x))
    let epsilon = try n.float("epsilon", default: 1e-5)
    try n.result(LayerNorm(epsilon: epsilon, normalizedRank: n.rank(x) - axis), x, n.input(1), n.optionalInput(2))
    try moments(&n, of: x, axes: Array(axis..<n.rank(x)), epsilon: epsilon, outputs: (1, 2))
}

/// The optional outputs mean and 1 / sqrt(variance + epsilon), where somebody uses them.
func moments(_ n: inout NodeLowering, of x: ValueID, axes: [Int], epsilon: Float, outputs: (mean: Int, deviation: Int)) throws {
    guard n.isUsed(output: outputs.mean) || n.isUsed(output: outputs.deviation) else { return }
    let x = n.dtype(x) == .f64 ? x : try n.cast(x, to: .f32)
    let mean = try n.apply(Reduce(.mean, axes: axes, keepDims: true), x)
    n.define(mean, output: outputs.mean)
    guard n.isUsed(output: outputs.deviation) else { return }
    let centered = try n.binary(.sub, x, mean)
    let variance = try n.apply(Reduce(.mean, axes: axes, keepDims: true), n.binary(.mul, centered, centered))
    try n.result(Unary(.rsqrt), n.binary(.add, variance, n.scalar(Double(epsilon), like: x)), output: outputs.deviation)
}

private func rmsNormalization(_ n: inout NodeLowering) throws {
    n.ignore("stash_type")
    let x = try n.input(0)
    let rank = n.rank(x)
    let axis = try n.axis(n.int("axis", default: -1), rank: rank)
    let epsilon = try n.float("epsilon", default: 1e-5)
    let scale = try n.input(1)
    if axis == rank - 1, n.rank(scale) == 1, n.type(scale).dims[0] != 1 {
        return try n.result(RMSNorm(epsilon: epsilon), x, scale)
    }
    // Over several dims the mean is spelled out.
    let wide = n.dtype(x) == .f64 ? x : try n.cast(x, to: .f32)
    let mean = try n.apply(Reduce(.mean, axes: Array(axis..<rank), keepDims: true), n.binary(.mul, wide, wide))
    let inverse = try n.apply(Unary(.rsqrt), n.binary(.add, mean, n.scalar(Double(epsilon), like: wide)))
    let normalized = try n.cast(n.binary(.mul, wide, inverse), to: n.dtype(scale))
    try n.result(Binary(.mul), normalized, scale)
}

/// x divided by its norm along an axis; zero vectors stay zero.
private func lpNormalization(_ n: inout NodeLowering) throws {
    let x = try n.input(0)
    let axis = try n.int("axis", default: -1)
    let p = try n.int("p", default: 2)
    guard p == 1 || p == 2 else { throw n.unsupported("p = \(p)") }
    let norm = try n.apply(Reduce(p == 1 ? .l1 : .l2, axes: [axis], keepDims: true), x)
    let isZero = try n.apply(Compare(.equal), norm, n.scalar(0, like: x))
    try n.result(Binary(.div), x, n.apply(Select(), isZero, n.scalar(1, like: x), norm))
}

/// (x - mean) / sqrt(variance + epsilon) * scale + bias along dim 1, with the recorded mean and variance.
private func batchNormalization(_ n: inout NodeLowering) throws {
    n.ignore("momentum")
    try n.require("training_mode", is: 0)
    try n.require("spatial", is: 1)
    let x = try n.input(0)
    guard n.rank(x) >= 2 else { throw n.error(.shapeMismatch, "has an input of rank \(n.rank(x)), at least 2 is needed") }
    let trailing = Array(1..<(n.rank(x) - 1))
    func parameter(_ n: inout NodeLowering, _ index: Int) throws -> ValueID {
        let value = try n.cast(n.input(index), to: n.dtype(x))
        return trailing.isEmpty ? value : try n.apply(ExpandDims(axes: trailing), value)
    }
    let scale = try parameter(&n, 1)
    let bias = try parameter(&n, 2)
    let mean = try parameter(&n, 3)
    let variance = try n.binary(.add, parameter(&n, 4), n.scalar(Double(n.float("epsilon", default: 1e-5)), like: x))
    let factor = try n.binary(.mul, n.apply(Unary(.rsqrt), variance), scale)
    try n.result(Binary(.add), n.binary(.mul, n.binary(.sub, x, mean), factor), bias)
}
