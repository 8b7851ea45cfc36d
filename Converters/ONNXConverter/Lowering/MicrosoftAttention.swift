import GraphIR
import Operators
import Tensors

/// onnxruntime's fused attention of encoders.
let microsoftAttentionRules: [String: OperatorTable.Rule] = [
    "Attention": attention,
    "QAttention": qAttention,
    "MultiHeadAttention": multiHeadAttention,
]

/// Inputs: x, the packed weight of query, key and value, its bias or absent, mask or absent, past or absent, a bias of the scores or absent.
/// Outputs: the result, keys and values with those of the past.
private func attention(_ n: inout NodeLowering) throws {
    var packed = try n.apply(MatMul(), n.input(0), n.input(1))
    if let bias = n.optionalInput(2) { packed = try n.binary(.add, packed, bias) }
    if n.optionalInput(6) != nil { throw n.unsupported("a past in a buffer of fixed length") }
    try packedAttention(&n, packed, mask: n.optionalInput(3), past: n.optionalInput(4), scoreBias: n.optionalInput(5))
}

/// Inputs: x, packed weight, bias, scale of x and weight, mask or absent, zero of x and weight or absent, past or absent.
private func qAttention(_ n: inout NodeLowering) throws {
    let exact = try n.apply(MatMulInteger(), n.input(0), n.input(1), n.optionalInput(6), n.optionalInput(7))
    let scale = try n.binary(.mul, n.cast(n.input(3), to: .f32), n.cast(n.input(4), to: .f32))
    let packed = try n.binary(.add, n.binary(.mul, n.cast(exact, to: .f32), scale), n.input(2))
    try packedAttention(&n, packed, mask: n.optionalInput(5), past: n.optionalInput(8), scoreBias: nil)
}

/// - Parameter past: `[2, batch, heads, past, width]`, keys and values.
private func packedAttention(_ n: inout NodeLowering, _ packed: ValueID, mask: ValueID?, past: ValueID?, scoreBias: ValueID?) throws {
    n.ignore("rotary_embedding_dim")
    for name in ["do_rotary", "past_present_share_buffer"] { try n.require(name, is: 0) }
    guard n.rank(packed) == 3, let width = n.type(packed).dims[2].fixedValue, width <= 1 << 40 else {
        throw n.unsupported("a width that is not known (\(n.type(packed)))")
    }
    let sizes = try n.ints("qkv_hidden_sizes") ?? [width / 3, width / 3, width / 3]
    guard sizes.count == 3, sizes.allSatisfy({ $0 >= 0 && $0 <= width }), sizes.reduce(0, +) == width else {
        throw n.error(.shapeMismatch, "its width \(width) does not split into query, key and value")
    }
    let heads = try n.requiredInt("num_heads")
    let query = try splitHeads(&n, n.sliced(packed, axis: 2, from: 0, to: sizes[0]), count: heads)
    var key = try splitHeads(&n, n.sliced(packed, axis: 2, from: sizes[0], to: sizes[0] + sizes[1]), count: heads)
    var value = try splitHeads(&n, n.sliced(packed, axis: 2, from: sizes[0] + sizes[1], to: width), count: heads)
    if let past {
        guard n.rank(past) == 5 else { throw n.error(.shapeMismatch, "its past has rank \(n.rank(past)), not 5") }
        key = try n.apply(Concat(axis: 2), n.apply(Gather(axis: 0), past, n.builder.scalar(0, .i64)), key)
        value = try n.apply(Concat(axis: 2), n.apply(Gather(axis: 0), past, n.builder.scalar(1, .i64)), value)
    }
    if n.isUsed(output: 1) {
        let both = try [key, value].map { try n.apply(ExpandDims(axes: [0]), $0) }
        try n.result(Concat(axis: 0), both[0], both[1], output: 1)
    }
    try attend(&n, query, key, value, mask: mask, scoreBias: scoreBias)
}

/// Inputs: query, key, value, their packed bias, key padding mask, a bias of the scores, past key, past value; all but the first may be absent.
/// Query, key and value are `[batch, length, heads * width]`; or the query has the others with it, `[batch, length, heads, 3, width]`; or the key has
/// the value with it, `[batch, length, heads, 2, width]`; or key and value have their heads in front, as a past has them, and no bias.
private func multiHeadAttention(_ n: inout NodeLowering) throws {
    for (index, what) in [(8, "past_sequence_length"), (9, "cache_indirection")] where n.optionalInput(index) != nil { throw n.unsupported("the input \(what)") }
    if n.isUsed(output: 3) { throw n.unsupported("the output qk") }
    let heads = try n.requiredInt("num_heads")
    var start = 0
    /// A part of the projections with its part of the bias, as `[batch, heads, length, width]`.
    func part(_ projection: ValueID, isBiased: Bool = true) throws -> ValueID {
        var result = projection
        guard n.rank(projection) == 3 else { throw n.error(.shapeMismatch, "a projection is \(n.type(projection)), expected rank 3") }
        if let bias = n.optionalInput(3), isBiased {
            guard let width = n.type(projection).dims[2].fixedValue, width <= 1 << 40 else { throw n.unsupported("a width that is not known") }
            result = try n.binary(.add, result, n.sliced(bias, axis: 0, from: start, to: start + width))
            start += width
        }
        return try splitHeads(&n, result, count: heads)
    }
    /// Element `index` of the fourth dimension of projections that lie together, `[batch, length, heads * width]`.
    func unpacked(_ packed: ValueID, _ index: Int) throws -> ValueID {
        guard n.rank(packed) == 5, let count = n.type(packed).dims[2].fixedValue, let width = n.type(packed).dims[4].fixedValue,
            let hidden = try (Dim.fixed(count) * .fixed(width)).fixedValue
        else { throw n.unsupported("packed projections of type \(n.type(packed))") }
        let one = try n.apply(Gather(axis: 3), packed, n.builder.scalar(Double(index), .i64))
        return try n.apply(Reshape(zeroCopies: true), one, n.integers([0, 0, hidden]))
    }
    let (first, second, third) = (try n.input(0), n.optionalInput(1), n.optionalInput(2))
    let query: ValueID
    var key: ValueID, value: ValueID
    switch (second, third) {
    case (nil, nil):
        query = try part(unpacked(first, 0))
        key = try part(unpacked(first, 1))
        value = try part(unpacked(first, 2))
    case (let both?, nil):
        query = try part(first)
        key = try part(unpacked(both, 0))
        value = try part(unpacked(both, 1))
    case (let keys?, let values?) where n.rank(keys) == 4 && n.rank(values) == 4:
        query = try part(first)
        (key, value) = (keys, values)
    case (let keys?, let values?):
        query = try part(first)
        key = try part(keys)
        value = try part(values)
    case (nil, _?): throw n.error(.shapeMismatch, "has a value but no key")
    }
    if let pastKey = n.optionalInput(6), let pastValue = n.optionalInput(7) {
        key = try n.apply(Concat(axis: 2), pastKey, key)
        value = try n.apply(Concat(axis: 2), pastValue, value)
    }
    n.define(key, output: 1)
    n.define(value, output: 2)
    try attend(&n, query, key, value, mask: n.optionalInput(4), scoreBias: n.optionalInput(5))
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
/// number of keys), `[2 * batch]` (behind the last key, then the first key), `[batch, keys]` or `[batch, queries, keys]` (positive: attended).
private func addedMask(_ n: inout NodeLowering, _ mask: ValueID, _ query: ValueID, _ key: ValueID) throws -> ValueID {
    let isAllowed: ValueID
    switch n.rank(mask) {
    case 1:
        let (count, batch) = (n.type(mask).dims[0], n.type(key).dims[0])
        func bounds(_ value: ValueID) throws -> ValueID { try n.cast(n.apply(Reshape(), value, n.integers([-1, 1, 1, 1])), to: .i64) }
        let places = try positions(&n, of: key)
        if Dim.areEqual(count, batch) == true {
            isAllowed = try n.apply(Compare(.less), places, bounds(mask))
        } else if try Dim.areEqual(count, batch * 2) == true {
            let sequences = try n.sizes(key, 0..<1)
            let zero = try n.integers([0])
            let ends = try n.apply(Slice(axes: [0]), mask, zero, sequences)
            let starts = try n.apply(Slice(axes: [0]), mask, sequences, n.integers([Int(Int32.max)]))
            isAllowed = try n.binary(
                .and, n.apply(Compare(.less), places, bounds(ends)), n.apply(Compare(.greater_equal), places, bounds(starts)))
        } else {
            throw n.unsupported("a mask of type \(n.type(mask)) for \(batch) sequences")
        }
    case 2: isAllowed = try n.apply(Compare(.greater), n.apply(ExpandDims(axes: [1, 2]), mask), n.scalar(0, like: mask))
    case 3: isAllowed = try n.apply(Compare(.greater), n.apply(ExpandDims(axes: [1]), mask), n.scalar(0, like: mask))
    default: throw n.unsupported("a mask of type \(n.type(mask))")
    }
    let filter = try n.scalar(Double(n.float("mask_filter_value", default: -10000)), like: query)
    return try n.apply(Select(), isAllowed, n.scalar(0, like: query), filter)
}
