import GraphIR
import Tensors

/// `softmax(q k^T * scale + mask) v` (Vaswani et al., 2017). Operands: q `[batch, heads, queries, width]`,
/// k `[batch, kv_heads, keys, width]`, v `[batch, kv_heads, keys, value_width]`, mask (absent, bool with true = attend, or a float
/// that is added; broadcasts to `[batch, heads, queries, keys]`). `heads` is a multiple of `kv_heads`; query head h reads
/// key head h * kv_heads / heads. The output is `[batch, heads, queries, value_width]`.
///
/// With offsets (i64 `[sequences + 1]`, of `token_rows`; the batch is 1 then, and there are as many keys as queries) the rows are sequences one
/// behind the other: a query sees the keys of its own sequence alone. Queries behind the last sequence give zeros. A bias of positions may go with
/// them: positions i64 `[1, rows]` and a bias `[1, heads, n, n]` (or 1 for all heads), of which a score gets the element of its query's and its key's
/// position.
///
/// A row whose keys are all excluded by a bool mask or a mask of minus infinity gives NaN, as the formula does, or zeros.
public struct ScaledDotProductAttention: Operator {
    public let scale: Float
    /// Query i sees keys up to `i + keys - queries`; with offsets, no keys behind itself.
    public let isCausal: Bool
    /// Rows without any key give zeros instead of NaN (what exporters spell as IsNaN and Where behind the softmax).
    public let emptyRowsAreZero: Bool

    public init(scale: Float, isCausal: Bool = false, emptyRowsAreZero: Bool = false) {
        self.scale = scale
        self.isCausal = isCausal
        self.emptyRowsAreZero = emptyRowsAreZero
    }
    public static let name = "scaled_dot_product_attention"
    public static let arity = 3...7

    public func inferTypes(_ operands: Operands) throws -> [TensorType] {
        let dtype = try operands.requireSameType(0..<3)
        try operands.require(0, \.isFloat, "a float")
        let q = try operands.type(0).dims
        let k = try operands.type(1).dims
        let v = try operands.type(2).dims
        guard q.count == 4, k.count == 4, v.count == 4 else {
            throw OperatorError(.shapeMismatch, "attention operands of rank \(q.count), \(k.count), \(v.count), expected 4")
        }
        try requireEqual(q[3], k[3], "query and key width differ")
        try requireEqual(k[2], v[2], "key and value count differ")
        try requireEqual(k[1], v[1], "key and value heads differ")
        try requireEqual(q[0], k[0], "query and key batch differ")
        try requireEqual(k[0], v[0], "key and value batch differ")
        if let heads = q[1].fixedValue, let shared = k[1].fixedValue, shared == 0 ? heads != 0 : heads % shared != 0 {
            throw OperatorError(.shapeMismatch, "\(heads) query heads are no multiple of \(shared) key heads")
        }
        if let mask = operands.optional(3)?.type {
            guard mask.dtype == .bool || mask.dtype == dtype else {
                throw OperatorError(.typeMismatch, "an attention mask of type \(mask.dtype.rawValue)")
            }
            guard mask.rank <= 4 else { throw OperatorError(.shapeMismatch, "an attention mask of rank \(mask.rank)") }
            let target = [q[0], q[1], q[2], k[2]]
            for (a, b) in zip(mask.dims, target.suffix(mask.rank)) where a != 1 {
                try requireEqual(a, b, "the attention mask [\(text(mask.dims))] does not fit [\(text(target))]")
            }
        }
        if operands.has(4) {
            let offsets = try operands.require(4, { $0 == .i64 }, "i64")
            guard offsets.rank == 1 else { throw OperatorError(.shapeMismatch, "the offsets of attention have rank \(offsets.rank), not 1") }
            try requireEqual(q[0], 1, "attention with offsets has a batch")
            try requireEqual(q[2], k[2], "attention with offsets has other keys than queries")
        }
        guard operands.has(5) == operands.has(6), operands.has(4) || !operands.has(5) else {
            throw OperatorError(.invalidAttribute, "a bias of positions needs offsets, positions and the bias")
        }
        if operands.has(5) {
            let positions = try operands.require(5, { $0 == .i64 }, "i64")
            let bias = try operands.require(6, { $0 == dtype }, dtype.rawValue)
            guard positions.rank == 2, bias.rank == 4 else {
                throw OperatorError(.shapeMismatch, "positions and bias of attention have the ranks \(positions.rank) and \(bias.rank)")
            }
            try requireEqual(positions.dims[0], 1, "attention with offsets has a batch")
            try requireEqual(positions.dims[1], q[2], "positions and queries differ")
            try requireEqual(bias.dims[0], 1, "the bias of positions has a batch")
            if bias.dims[1] != 1 { try requireEqual(bias.dims[1], q[1], "heads and bias of positions differ") }
            try requireEqual(bias.dims[2], bias.dims[3], "the bias of positions is not square")
        }
        return [TensorType(dtype, [q[0], q[1], q[2], v[3]])]
    }
}

extension ScaledDotProductAttention {
    public func evaluate(_ inputs: Inputs) throws -> [Tensor] {
        let output = try output(for: inputs)
        return [output.dtype == .f64 ? try evaluate(Double.self, inputs, output) : try evaluate(Float.self, inputs, output)]
    }

    private func evaluate<T: ComputeReal>(_ type: T.Type, _ inputs: Inputs, _ output: (dtype: DType, shape: [Int])) throws -> Tensor {
        let (q, k, v) = (try inputs[0], try inputs[1], try inputs[2])
        let (batch, heads, queries, width) = (q.shape[0], q.shape[1], q.shape[2], q.shape[3])
        let (shared, keys, valueWidth) = (k.shape[1], k.shape[2], v.shape[3])
        let scale = T.converting(Double(scale))
        let mask = inputs.optional(3)
        // A bool mask is an added one of 0 and minus infinity.
        let added: [T]? = try mask.map { mask in
            guard mask.dtype == .bool else { return T.elements(of: mask) }
            return try mask.withElements(of: UInt8.self) { $0.map { $0 != 0 ? 0 : -T.infinity } }
        }
        /// By query: the keys of its sequence; nil for none.
        let sequences: [Range<Int>?]? = try inputs.optional(4).map { offsets in
            var result = [Range<Int>?](repeating: nil, count: queries)
            let ranges = try offsets.withElements(of: Int64.self) { try TokenRows.sequences($0, count: queries) }
            for range in ranges { for query in range { result[query] = range } }
            return result
        }
        let bias = inputs.optional(6).map(T.elements(of:))
        let positions = try inputs.optional(5)?.integers().map { try position($0, size: inputs[6].shape[2]) }
        let biasStrides = inputs.optional(6).map { Shape.broadcastStrides($0.shape, to: [1, heads, $0.shape[2], $0.shape[3]]) } ?? []
        let maskStrides = mask.map { Shape.broadcastStrides($0.shape, to: [batch, heads, queries, keys]) } ?? []
        return try T.make(output.dtype, output.shape) { out in
            for index in out.indices { out[index] = 0 }
            try T.read(q) { q in try T.read(k) { k in try T.read(v) { v in
                var weights = [T](repeating: 0, count: keys)
                for row in 0..<batch * heads * queries {
                    let (b, h, i) = (row / (heads * queries), row / queries % heads, row % queries)
                    let group = b * shared + h * shared / heads
                    guard let own = sequences.map({ $0[i] }) ?? 0..<keys else { continue }
                    let visible = isCausal ? min(max(i + keys - queries + 1, 0), keys) : keys
                    var largest = -T.infinity
                    for j in own {
                        var sum: T = 0
                        for index in 0..<width { sum += q[row * width + index] * k[(group * keys + j) * width + index] }
                        weights[j] = sum * scale
                        if let added {
                            weights[j] += added[b * maskStrides[0] + h * maskStrides[1] + i * maskStrides[2] + j * maskStrides[3]]
                        }
                        if let bias, let positions { weights[j] += bias[h * biasStrides[1] + positions[i] * biasStrides[2] + positions[j] * biasStrides[3]] }
                        if j >= visible { weights[j] = -T.infinity }
                        if weights[j] > largest || weights[j].isNaN { largest = weights[j] }
                    }
                    if largest == -T.infinity, emptyRowsAreZero { continue }
                    var total: T = 0
                    for j in own {
                        weights[j] = T.exp(weights[j] - largest)
                        total += weights[j]
                    }
                    for j in own {
                        let weight = weights[j] / total
                        for index in 0..<valueWidth { out[row * valueWidth + index] += weight * v[(group * keys + j) * valueWidth + index] }
                    }
                }
            } } }
        }
    }
}
