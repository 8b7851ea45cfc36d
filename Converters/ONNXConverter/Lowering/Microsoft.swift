import GraphIR
import Operators
import Tensors

/// Fused float operators of onnxruntime's transformer optimizer.
let microsoftRules: [String: OperatorTable.Rule] = [
    "Gelu": { try unary(&$0, .gelu) },
    "BiasGelu": { try biased(&$0, .gelu) },
    "FastGelu": { try biased(&$0, .gelu_tanh) },
    "QuickGelu": quickGelu,
    "FusedMatMul": fusedMatMul,
    "EmbedLayerNormalization": embedLayerNormalization,
    "SkipLayerNormalization": skipLayerNormalization,
]

/// An activation of x + bias; the bias may be absent.
private func biased(_ n: inout NodeLowering, _ kind: Unary.Kind) throws {
    var x = try n.input(0)
    if let bias = n.optionalInput(1) { x = try n.binary(.add, x, bias) }
    try n.result(Unary(kind), x)
}

/// x sigmoid(alpha x)
private func quickGelu(_ n: inout NodeLowering) throws {
    let x = try n.input(0)
    let scaled = try n.binary(.mul, x, n.scalar(Double(n.float("alpha", default: 1.702)), like: x))
    try n.result(Binary(.mul), x, n.apply(Unary(.sigmoid), scaled))
}

/// alpha A' B'
private func fusedMatMul(_ n: inout NodeLowering) throws {
    try n.require("transBatchA", is: 0)
    try n.require("transBatchB", is: 0)
    let a = try n.input(0)
    let alpha = try n.float("alpha", default: 1)
    let op = try MatMul(transposeA: n.flag("transA"), transposeB: n.flag("transB"))
    if alpha == 1 { return try n.result(op, a, n.input(1)) }
    try n.result(Binary(.mul), n.apply(op, a, n.input(1)), n.scalar(Double(alpha), like: a))
}

/// Layer normalisation of the sum of word, position and segment embeddings. Inputs: ids, segment ids or absent, word, position and
/// segment tables, scale, bias, mask or absent, positions or absent. Outputs: the embeddings, the number of ones per row of the mask, the sum.
private func embedLayerNormalization(_ n: inout NodeLowering) throws {
    n.ignore("mask_index_type")
    let ids = try n.input(0)
    guard n.rank(ids) == 2 else { throw n.error(.shapeMismatch, "its ids have rank \(n.rank(ids)), not 2") }
    var sum = try n.apply(Gather(axis: 0), n.input(2), ids)
    let places = try n.optionalInput(8) ?? positions(&n, of: ids, axis: 1)
    sum = try n.binary(.add, sum, n.apply(Gather(axis: 0), n.input(3), places))
    if let segments = n.optionalInput(1) {
        sum = try n.binary(.add, sum, n.apply(Gather(axis: 0), n.input(4), segments))
    }
    try n.result(LayerNorm(epsilon: n.float("epsilon", default: 1e-12)), sum, n.input(5), n.input(6))
    n.define(sum, output: 2)
    guard n.isUsed(output: 1) else { return }
    if let mask = n.optionalInput(7) {
        let ones = try n.apply(Compare(.equal), mask, n.scalar(1, like: mask))
        try n.result(Reduce(.sum, axes: [1], keepDims: false), n.cast(ones, to: .i32), output: 1)
    } else {
        try n.result(Fill(), n.sizes(ids, 0..<1), n.builder.scalar(0, .i32), output: 1)
    }
}

/// Layer normalisation of input + skip + bias. Outputs: the result, mean, inverse deviation, the sum.
private func skipLayerNormalization(_ n: inout NodeLowering) throws {
    var sum = try n.binary(.add, n.input(0), n.input(1))
    if let bias = n.optionalInput(4) { sum = try n.binary(.add, sum, bias) }
    let epsilon = try n.float("epsilon", default: 1e-12)
    try n.result(LayerNorm(epsilon: epsilon), sum, n.input(2), n.optionalInput(3))
    try moments(&n, of: sum, axes: [n.rank(sum) - 1], epsilon: epsilon, outputs: (1, 2))
    n.define(sum, output: 3)
}
