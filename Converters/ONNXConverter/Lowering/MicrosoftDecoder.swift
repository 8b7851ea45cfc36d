import GraphIR
import Operators
import Tensors

/// onnxruntime's fused operators of decoders.
let microsoftDecoderRules: [String: OperatorTable.Rule] = [
    "GroupQueryAttention": groupQueryAttention,
    "RotaryEmbedding": rotaryEmbedding,
    "SkipSimplifiedLayerNormalization": skipSimplifiedLayerNormalization,
    "MatMulNBits": matMulNBits,
]

/// Root mean square normalisation of input + skip + bias. Outputs: the result, mean and inverse deviation (not made), the sum.
private func skipSimplifiedLayerNormalization(_ n: inout NodeLowering) throws {
    var sum = try n.binary(.add, n.input(0), n.input(1))
    if let bias = n.optionalInput(3) { sum = try n.binary(.add, sum, bias) }
    try n.result(RMSNorm(epsilon: n.float("epsilon", default: 1e-5)), sum, n.input(2))
    n.define(sum, output: 3)
}

/// Inputs: x (batch, length, heads * width) or (batch, heads, length, width), positions of each token or of the first one, cosines and sines
/// of all positions.
private func rotaryEmbedding(_ n: inout NodeLowering) throws {
    try n.require("is_packed_batching", is: 0)
    if try n.float("scale", default: 1) != 1 { throw n.unsupported("scale") }
    let x = try n.input(0)
    let isPacked = n.rank(x) == 3
    guard isPacked || n.rank(x) == 4 else { throw n.error(.shapeMismatch, "has an input of rank \(n.rank(x))") }
    guard let pairs = try n.type(n.input(2)).dims.last?.fixedValue, let hidden = n.type(x).dims.last?.fixedValue, pairs > 0, pairs <= 1 << 20 else {
        throw n.unsupported("a width that is not known")
    }
    let given = try n.int("num_heads", default: 0)
    let part = try n.int("rotary_embedding_dim", default: 0)
    guard part == 0 || part == 2 * pairs else { throw n.error(.shapeMismatch, "rotates \(part) elements with \(pairs) cosines") }
    let input: ValueID
    if isPacked {
        // Without a number of heads all of a head turns.
        let heads = given > 0 ? given : hidden / (2 * pairs)
        guard heads > 0, hidden.isMultiple(of: heads), hidden / heads >= 2 * pairs else { throw n.error(.shapeMismatch, "\(n.type(x)) does not split into heads") }
        input = try n.apply(Reshape(zeroCopies: true), x, n.integers([0, 0, heads, hidden / heads]))
    } else {
        input = try n.apply(Transpose(permutation: [0, 2, 1, 3]), x)
    }
    var places = try n.input(1)
    if n.rank(places) == 1 {
        let length = try n.apply(Squeeze(axes: [0]), n.sizes(input, 1..<2))
        let range = try n.apply(Arange(), n.builder.scalar(0, .i64), length, n.builder.scalar(1, .i64))
        places = try n.apply(ExpandDims(axes: [0]), n.binary(.add, range, places))
    }
    let output = try turned(&n, input, at: places, cosines: 2, sines: 3, pairs: pairs, isInterleaved: n.flag("interleaved"))
    if isPacked {
        try n.result(Reshape(), output, n.sizes(x, 0..<3))
    } else {
        try n.result(Transpose(permutation: [0, 2, 1, 3]), output)
    }
}

/// x `[batch, length, heads, width]` turned by rows of the tables of cosines and sines, which are inputs of the node.
private func turned(
    _ n: inout NodeLowering, _ x: ValueID, at places: ValueID, cosines: Int, sines: Int, pairs: Int, isInterleaved: Bool
) throws -> ValueID {
    func rows(_ n: inout NodeLowering, _ index: Int) throws -> ValueID {
        try n.apply(ExpandDims(axes: [2]), n.apply(Gather(axis: 0), n.input(index), places))
    }
    return try turned(&n, x, cosines: rows(&n, cosines), sines: rows(&n, sines), count: 2 * pairs, isInterleaved: isInterleaved)
}

/// Causal attention with fewer key than query heads over a past. Inputs: query (or query, key and value packed), key, value, past key, past value
/// `[batch, kv_heads, past, width]`, i32 `[batch]` number of tokens of each row less one, i32 number of tokens of the longest row, cosines and
/// sines of all positions or absent, positions or absent.
///
/// A row shorter than the longest has its padding at the end of the prompt; the tokens of later steps count as real.
private func groupQueryAttention(_ n: inout NodeLowering) throws {
    // What follows from the inputs' shapes, and what is measured only on GPUs.
    n.ignore("kv_cache_bit_width", "qk_output")
    for name in ["smooth_softmax", "qk_output"] { try n.require(name, is: 0) }
    for (index, what) in [(10, "attention_bias"), (11, "head_sink")] where n.optionalInput(index) != nil { throw n.unsupported("the input \(what)") }
    if n.isUsed(output: 3) { throw n.unsupported("the output output_qk") }
    if try n.float("softcap", default: 0) != 0 { throw n.unsupported("softcap") }
    let (heads, shared) = (try n.requiredInt("num_heads"), try n.requiredInt("kv_num_heads"))
    guard heads > 0, shared > 0, heads <= 1 << 20, heads.isMultiple(of: shared), try n.rank(n.input(0)) == 3, let hidden = try n.type(n.input(0)).dims[2].fixedValue
    else { throw n.error(.shapeMismatch, "has \(heads) heads, \(shared) key heads and a query of \(try n.type(n.input(0)))") }
    func split(_ value: ValueID, _ count: Int, from start: Int, width: Int) throws -> ValueID {
        let part = start == 0 && n.type(value).dims[2] == .fixed(count * width) ? value : try n.sliced(value, axis: 2, from: start, to: start + count * width)
        return try n.apply(Reshape(zeroCopies: true), part, n.integers([0, 0, count, width]))
    }
    var query, key, value: ValueID
    let width: Int
    if n.optionalInput(1) == nil {
        width = hidden / (heads + 2 * shared)
        guard width > 0, hidden == (heads + 2 * shared) * width else { throw n.error(.shapeMismatch, "its width \(hidden) does not split into heads") }
        query = try split(n.input(0), heads, from: 0, width: width)
        key = try split(n.input(0), shared, from: heads * width, width: width)
        value = try split(n.input(0), shared, from: (heads + shared) * width, width: width)
    } else {
        width = hidden / heads
        guard width > 0, hidden == heads * width else { throw n.error(.shapeMismatch, "its width \(hidden) does not split into \(heads) heads") }
        for index in 1...2 where try n.rank(n.input(index)) != 3 { throw n.unsupported("a key or value of \(try n.type(n.input(index)))") }
        query = try split(n.input(0), heads, from: 0, width: width)
        key = try split(n.input(1), shared, from: 0, width: width)
        value = try split(n.input(2), shared, from: 0, width: width)
    }
    let (pastKey, pastValue) = (try n.input(3), try n.input(4))
    func size(_ value: ValueID, _ axis: Int) throws -> ValueID { try n.apply(Squeeze(axes: [0]), n.sizes(value, axis..<(axis + 1))) }
    let (zero, one) = (try n.builder.scalar(0, .i64), try n.builder.scalar(1, .i64))
    let (length, past) = (try size(query, 1), try size(pastKey, 2))
    let steps = try n.apply(Arange(), zero, length, one)
    // How many tokens of the past are real, [batch, 1]; in a prompt none are past, however short the row.
    let counts = try n.apply(Reshape(), n.cast(n.input(5), to: .i64), n.integers([-1, 1]))
    let before = try n.binary(.max, n.binary(.sub, n.binary(.add, counts, one), length), zero)

    if try n.flag("do_rotary") {
        guard let pairs = try n.type(n.input(7)).dims.last?.fixedValue, pairs > 0, pairs <= width / 2 else {
            throw n.error(.shapeMismatch, "has cosines of \(try n.type(n.input(7))) for heads of width \(width)")
        }
        let places = try n.optionalInput(9) ?? n.binary(.add, before, steps)
        let isInterleaved = try n.flag("rotary_interleaved")
        query = try turned(&n, query, at: places, cosines: 7, sines: 8, pairs: pairs, isInterleaved: isInterleaved)
        key = try turned(&n, key, at: places, cosines: 7, sines: 8, pairs: pairs, isInterleaved: isInterleaved)
    } else {
        n.ignore("rotary_interleaved")
    }
    let exchange = Transpose(permutation: [0, 2, 1, 3])
    let keys = try n.apply(Concat(axis: 2), pastKey, n.apply(exchange, key))
    let values = try n.apply(Concat(axis: 2), pastValue, n.apply(exchange, value))
    n.define(keys, output: 1)
    n.define(values, output: 2)

    // Key j of query past + i: not after it, and no padding of the past.
    let rows = try n.apply(ExpandDims(axes: [1]), n.binary(.add, steps, past))
    let columns = try positions(&n, of: keys)
    var allowed = try n.apply(Compare(.less_equal), columns, rows)
    let window = try n.int("local_window_size", default: -1)
    if window > 0 { allowed = try n.binary(.and, allowed, n.apply(Compare(.less), n.binary(.sub, rows, columns), n.builder.scalar(Double(window), .i64))) }
    let isNew = try n.apply(Compare(.greater_equal), columns, past)
    let isReal = try n.binary(.or, isNew, n.apply(Compare(.less), columns, n.apply(ExpandDims(axes: [1, 2]), before)))
    allowed = try n.binary(.and, allowed, n.apply(Reshape(), isReal, n.apply(Concat(axis: 0), n.integers([-1, 1, 1]), n.sizes(keys, 2..<3))))
    let given = try n.float("scale", default: 0)
    let op = ScaledDotProductAttention(scale: given == 0 ? 1 / Float(width).squareRoot() : given, emptyRowsAreZero: true)
    try joinHeads(&n, n.apply(op, n.apply(exchange, query), keys, values, allowed))
}
