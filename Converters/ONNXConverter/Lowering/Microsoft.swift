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
    "Attention": attention,
    "QAttention": qAttention,
    "MultiHeadAttention": multiHeadAttention,
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
    let places: ValueID
    if let given = n.optionalInput(8) {
        places = try n.apply(Gather(axis: 0), n.input(3), given)
    } else {
        places = try n.apply(Slice(axes: [0]), n.input(3), n.integers([0]), n.sizes(ids, 1..<2))
    }
    sum = try n.binary(.add, sum, places)
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

/// Inputs: x, the packed weight of query, key and value, its bias or absent, mask or absent, past or absent, a bias of the scores or absent.
private func attention(_ n: inout NodeLowering) throws {
    var packed = try n.apply(MatMul(), n.input(0), n.input(1))
    if let bias = n.optionalInput(2) { packed = try n.binary(.add, packed, bias) }
    if n.optionalInput(4) != nil { throw n.unsupported("a past") }
    try packedAttention(&n, packed, mask: n.optionalInput(3), scoreBias: n.optionalInput(5))
}

/// Inputs: x, packed weight, bias, scale of x and weight, mask or absent, zero of x and weight or absent, past or absent.
private func qAttention(_ n: inout NodeLowering) throws {
    if n.optionalInput(8) != nil { throw n.unsupported("a past") }
    let exact = try n.apply(MatMulInteger(), n.input(0), n.input(1), n.optionalInput(6), n.optionalInput(7))
    let scale = try n.binary(.mul, n.cast(n.input(3), to: .f32), n.cast(n.input(4), to: .f32))
    let packed = try n.binary(.add, n.binary(.mul, n.cast(exact, to: .f32), scale), n.input(2))
    try packedAttention(&n, packed, mask: n.optionalInput(5), scoreBias: nil)
}

private func packedAttention(_ n: inout NodeLowering, _ packed: ValueID, mask: ValueID?, scoreBias: ValueID?) throws {
    n.ignore("past_present_share_buffer", "rotary_embedding_dim")
    try n.require("do_rotary", is: 0)
    guard n.rank(packed) == 3, let width = n.type(packed).dims[2].fixedValue, width <= 1 << 40 else {
        throw n.unsupported("a width that is not known (\(n.type(packed)))")
    }
    let sizes = try n.ints("qkv_hidden_sizes") ?? [width / 3, width / 3, width / 3]
    guard sizes.count == 3, sizes.allSatisfy({ $0 >= 0 && $0 <= width }), sizes.reduce(0, +) == width else {
        throw n.error(.shapeMismatch, "its width \(width) does not split into query, key and value")
    }
    let heads = try n.requiredInt("num_heads")
    let query = try splitHeads(&n, n.sliced(packed, axis: 2, from: 0, to: sizes[0]), count: heads)
    let key = try splitHeads(&n, n.sliced(packed, axis: 2, from: sizes[0], to: sizes[0] + sizes[1]), count: heads)
    let value = try splitHeads(&n, n.sliced(packed, axis: 2, from: sizes[0] + sizes[1], to: width), count: heads)
    try attend(&n, query, key, value, mask: mask, scoreBias: scoreBias)
}

/// Inputs: query, key, value (rank 3), their packed bias, key padding mask, a bias of the scores; all but the first may be absent here.
private func multiHeadAttention(_ n: inout NodeLowering) throws {
    if n.optionalInput(6) != nil || n.optionalInput(7) != nil { throw n.unsupported("a past") }
    let heads = try n.requiredInt("num_heads")
    let inputs = try (0..<3).map { try n.input($0) }
    guard inputs.allSatisfy({ n.rank($0) == 3 }) else { throw n.unsupported("packed query, key and value") }
    var start = 0
    let parts = try inputs.map { input -> ValueID in
        var part = input
        if let bias = n.optionalInput(3) {
            guard let width = n.type(input).dims[2].fixedValue, width <= 1 << 40 else { throw n.unsupported("a width that is not known") }
            part = try n.binary(.add, part, n.sliced(bias, axis: 0, from: start, to: start + width))
            start += width
        }
        return try splitHeads(&n, part, count: heads)
    }
    try attend(&n, parts[0], parts[1], parts[2], mask: n.optionalInput(4), scoreBias: n.optionalInput(5))
}

private func attend(
    _ n: inout NodeLowering, _ query: ValueID, _ key: ValueID, _ value: ValueID, mask: ValueID?, scoreBias: ValueID?
) throws {
    n.ignore("mask_filter_value")
    var added = try mask.map { try addedMask(&n, $0, query, key) }
    if let scoreBias { added = try added.map { try n.binary(.add, $0, scoreBias) } ?? scoreBias }
    let scale = try n.float("scale", default: 0)
    let op = ScaledDotProductAttention(
        scale: scale == 0 ? try defaultScale(n, query) : scale, isCausal: try n.flag("unidirectional"))
    try joinHeads(&n, n.apply(op, query, key, value, added))
}

/// onnxruntime's integer masks as numbers to add to the scores: 0 where attended, `mask_filter_value` elsewhere. A mask is `[batch]` (the
/// number of keys), `[batch, keys]` or `[batch, queries, keys]` (positive: attended).
private func addedMask(_ n: inout NodeLowering, _ mask: ValueID, _ query: ValueID, _ key: ValueID) throws -> ValueID {
    let isAllowed: ValueID
    switch n.rank(mask) {
    case 1:
        guard Dim.areEqual(n.type(mask).dims[0], n.type(key).dims[0]) == true else {
            throw n.unsupported("a mask of type \(n.type(mask))")
        }
        let counts = try n.cast(n.apply(Reshape(), mask, n.integers([-1, 1, 1, 1])), to: .i64)
        isAllowed = try n.apply(Compare(.less), positions(&n, of: key), counts)
    case 2: isAllowed = try n.apply(Compare(.greater), n.apply(ExpandDims(axes: [1, 2]), mask), n.scalar(0, like: mask))
    case 3: isAllowed = try n.apply(Compare(.greater), n.apply(ExpandDims(axes: [1]), mask), n.scalar(0, like: mask))
    default: throw n.unsupported("a mask of type \(n.type(mask))")
    }
    let filter = try n.scalar(Double(n.float("mask_filter_value", default: -10000)), like: query)
    return try n.apply(Select(), isAllowed, n.scalar(0, like: query), filter)
}
