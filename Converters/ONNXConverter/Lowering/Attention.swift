import GraphIR
import Operators
import Tensors

/// Attention and rotary position embedding of the standard domain (version 23 on).
let attentionRules: [String: OperatorTable.Rule] = [
    "Attention": attention,
    "RotaryEmbedding": rotaryEmbedding,
]

/// Inputs: query, key, value, mask, past key, past value, number of keys that are no padding (version 24). The first three have rank 4
/// (batch, heads, length, width) or 3 (batch, length, heads * width, the number of heads being an attribute).
private func attention(_ n: inout NodeLowering) throws {
    // Products are accumulated in f32 at least, whatever precision is asked for.
    n.ignore("softmax_precision", "qk_matmul_output_mode")
    if try n.float("softcap", default: 0) != 0 { throw n.unsupported("softcap") }
    if n.isUsed(output: 3) { throw n.unsupported("the output qk_matmul_output") }
    let isPacked = try n.rank(n.input(0)) == 3
    func heads(_ n: inout NodeLowering, _ index: Int, _ attribute: String) throws -> ValueID {
        let value = try n.input(index)
        guard n.rank(value) == (isPacked ? 3 : 4) else { throw n.error(.shapeMismatch, "input \(index) has rank \(n.rank(value))") }
        n.ignore(attribute)
        return isPacked ? try splitHeads(&n, value, count: n.requiredInt(attribute)) : value
    }
    let query = try heads(&n, 0, "q_num_heads")
    var key = try heads(&n, 1, "kv_num_heads")
    var value = try heads(&n, 2, "kv_num_heads")
    let hasPast = n.optionalInput(4) != nil
    if hasPast {
        key = try n.apply(Concat(axis: 2), n.input(4), key)
        value = try n.apply(Concat(axis: 2), n.input(5), value)
    }
    n.define(key, output: 1)
    n.define(value, output: 2)

    var mask = n.optionalInput(3)
    if let given = mask, let missing = try missingKeys(n, given, key), missing > 0 {
        // Keys beyond the mask are not attended to.
        let pads = try n.integers(Array(repeating: 0, count: 2 * n.rank(given) - 1) + [missing])
        let excluded = n.dtype(given) == .bool ? n.builder.constant(try Tensor(bools: [false], shape: [])) : try n.scalar(-.infinity, like: given)
        mask = try n.apply(Pad(), given, pads, excluded)
    }
    let isCausal = try n.flag("is_causal")
    var useCausalFlag = false
    if let valid = n.optionalInput(6) {
        let counts = try n.apply(Reshape(), valid, n.integers([-1, 1, 1, 1]))
        mask = try combined(&n, mask, n.apply(Compare(.less), positions(&n, of: key), counts))
        if isCausal {
            // The last query stands at the last key that is no padding.
            let offset = try n.binary(.sub, counts, n.sizes(query, 2..<3))
            mask = try combined(&n, mask, causalMask(&n, query, key, offset: offset))
        }
    } else if isCausal {
        // With a past the last query sees the last key; without, query i sees key i.
        if hasPast || Dim.areEqual(n.type(query).dims[2], n.type(key).dims[2]) == true {
            useCausalFlag = true
        } else {
            mask = try combined(&n, mask, causalMask(&n, query, key, offset: nil))
        }
    }
    let op = ScaledDotProductAttention(
        scale: try n.float("scale") ?? defaultScale(n, query), isCausal: useCausalFlag, emptyRowsAreZero: true)
    if isPacked {
        try joinHeads(&n, n.apply(op, query, key, value, mask))
    } else {
        try n.result(op, query, key, value, mask)
    }
}

private func missingKeys(_ n: NodeLowering, _ mask: ValueID, _ key: ValueID) throws -> Int? {
    guard let covered = n.type(mask).dims.last?.fixedValue, covered != 1, let keys = n.type(key).dims[2].fixedValue else { return nil }
    return keys - covered
}

/// 1 / sqrt(width)
func defaultScale(_ n: NodeLowering, _ query: ValueID) throws -> Float {
    guard let width = n.type(query).dims.last?.fixedValue, width > 0 else { throw n.unsupported("a head width that is not known") }
    return 1 / Float(width).squareRoot()
}

/// `[batch, length, heads * width]` as `[batch, heads, length, width]`.
func splitHeads(_ n: inout NodeLowering, _ value: ValueID, count: Int) throws -> ValueID {
    guard count > 0, n.rank(value) == 3, let hidden = n.type(value).dims[2].fixedValue, hidden % count == 0 else {
        throw n.error(.shapeMismatch, "\(n.type(value)) does not split into \(count) heads")
    }
    let split = try n.apply(Reshape(zeroCopies: true), value, n.integers([0, 0, count, hidden / count]))
    return try n.apply(Transpose(permutation: [0, 2, 1, 3]), split)
}

/// The reverse of `splitHeads`, as the node's first output.
func joinHeads(_ n: inout NodeLowering, _ value: ValueID) throws {
    let dims = n.type(value).dims
    guard dims.count == 4, let heads = dims[1].fixedValue, let width = dims[3].fixedValue else {
        throw n.unsupported("a number or width of heads that is not known (\(n.type(value)))")
    }
    let lengthFirst = try n.apply(Transpose(permutation: [0, 2, 1, 3]), value)
    try n.result(Reshape(zeroCopies: true), lengthFirst, n.integers([0, 0, try (Dim.fixed(heads) * .fixed(width)).fixedValue ?? 0]))
}

/// 0, 1, ... for every key, as i64.
func positions(_ n: inout NodeLowering, of key: ValueID, axis: Int = 2) throws -> ValueID {
    let count = try n.apply(Squeeze(axes: [0]), n.sizes(key, axis..<(axis + 1)))
    return try n.apply(Arange(), n.builder.scalar(0, .i64), count, n.builder.scalar(1, .i64))
}

/// True where key j <= query i + offset.
private func causalMask(_ n: inout NodeLowering, _ query: ValueID, _ key: ValueID, offset: ValueID?) throws -> ValueID {
    var rows = try n.apply(ExpandDims(axes: [1]), positions(&n, of: query))
    if let offset { rows = try n.binary(.add, rows, offset) }
    return try n.apply(Compare(.greater_equal), rows, positions(&n, of: key))
}

/// A mask (bool or added, or absent) and a bool mask in one.
private func combined(_ n: inout NodeLowering, _ mask: ValueID?, _ isAllowed: ValueID) throws -> ValueID {
    guard let mask else { return isAllowed }
    if n.dtype(mask) == .bool { return try n.binary(.and, mask, isAllowed) }
    return try n.apply(Select(), isAllowed, mask, n.scalar(-.infinity, like: mask))
}

/// Rotates pairs of elements by the angle of their position (Su et al., 2021). Inputs: x of rank 4 (batch, heads, length, width) or 3
/// (batch, length, heads * width), cosines, sines, positions or absent (the caches hold a row per element of the sequence then).
private func rotaryEmbedding(_ n: inout NodeLowering) throws {
    n.ignore("num_heads")
    let x = try n.input(0)
    let isPacked = n.rank(x) == 3
    var input = x
    if isPacked {
        let count = try n.int("num_heads", default: 0)
        guard count > 0, let hidden = n.type(x).dims[2].fixedValue, hidden % count == 0 else {
            throw n.error(.shapeMismatch, "\(n.type(x)) does not split into \(count) heads")
        }
        input = try n.apply(Reshape(zeroCopies: true), x, n.integers([0, 0, count, hidden / count]))
    } else {
        guard n.rank(x) == 4 else { throw n.error(.shapeMismatch, "has an input of rank \(n.rank(x))") }
        input = try n.apply(Transpose(permutation: [0, 2, 1, 3]), x)
    }
    guard let width = n.type(input).dims[3].fixedValue else { throw n.unsupported("a head width that is not known") }
    let given = try n.int("rotary_embedding_dim", default: 0)
    let rotated = given == 0 ? width : given
    guard rotated > 0, rotated % 2 == 0, rotated <= width else { throw n.error(.shapeMismatch, "rotates \(rotated) of \(width) elements") }
    func angles(_ n: inout NodeLowering, _ index: Int) throws -> ValueID {
        var cache = try n.input(index)
        if let places = n.optionalInput(3) { cache = try n.apply(Gather(axis: 0), cache, places) }
        return try n.apply(ExpandDims(axes: [2]), cache)
    }
    let output = try turned(&n, input, cosines: angles(&n, 1), sines: angles(&n, 2), count: rotated, isInterleaved: n.flag("interleaved"))
    if isPacked {
        try n.result(Reshape(), output, n.sizes(x, 0..<3))
    } else {
        try n.result(Transpose(permutation: [0, 2, 1, 3]), output)
    }
}

/// The first `count` elements of each head of `x` `[batch, length, heads, width]`, turned in pairs. Cosines and sines are `[.., length, 1, count / 2]`.
func turned(
    _ n: inout NodeLowering, _ x: ValueID, cosines: ValueID, sines: ValueID, count: Int, isInterleaved: Bool
) throws -> ValueID {
    guard let width = n.type(x).dims[3].fixedValue else { throw n.unsupported("a head width that is not known") }
    func half(_ n: inout NodeLowering, _ index: Int) throws -> ValueID {
        if isInterleaved { return try n.apply(Slice(axes: [3]), x, n.integers([index]), n.integers([count]), n.integers([2])) }
        return try n.sliced(x, axis: 3, from: index * (count / 2), to: (index + 1) * (count / 2))
    }
    let a = try half(&n, 0)
    let b = try half(&n, 1)
    let real = try n.binary(.sub, n.binary(.mul, cosines, a), n.binary(.mul, sines, b))
    let imaginary = try n.binary(.add, n.binary(.mul, sines, a), n.binary(.mul, cosines, b))
    var output: ValueID
    if isInterleaved {
        let pairs = try n.apply(Concat(axis: 4), n.apply(ExpandDims(axes: [4]), real), n.apply(ExpandDims(axes: [4]), imaginary))
        output = try n.apply(Reshape(zeroCopies: true), pairs, n.integers([0, 0, 0, count]))
    } else {
        output = try n.apply(Concat(axis: 3), real, imaginary)
    }
    if count < width { output = try n.apply(Concat(axis: 3), output, n.sliced(x, axis: 3, from: count, to: width)) }
    return output
}
