import GraphIR
import Tensors

/// Causal attention over a key-value cache. Operands: q `[batch, sequence, heads, width]`, k `[batch, sequence, kv_heads, width]`,
/// v `[batch, sequence, kv_heads, value_width]`, mask i64 `[batch, sequence]` (nonzero for a real token of the new ones) or absent. The output is
/// `[batch, sequence, heads, value_width]`.
///
/// Appends k, v and mask to the cache of the run, then computes `softmax(q k^T * scale) v` over all cached real tokens up to the query's own.
/// `heads` is a multiple of `kv_heads`; query head h reads key head h * kv_heads / heads. A query without any key gives zeros. The
/// types do not tell how much the cache holds, so one plan serves every step of a generation; a run without a cache starts empty.
public struct CachedAttention: Operator {
    /// Which part of the cache: one for each attention layer.
    public let slot: Int
    public let scale: Float
    /// How many positions a query sees, its own included; 0 for all.
    public let window: Int
    /// A score s becomes `softcap * tanh(s / softcap)` (Gemma 2, 2024, section 2); 0 for none.
    public let softcap: Float

    public init(slot: Int, scale: Float, window: Int = 0, softcap: Float = 0) {
        self.slot = slot
        self.scale = scale
        self.window = window
        self.softcap = softcap
    }
    public static let name = "cached_attention"
    public static let arity = 3...4
    public static let usesCache = true

    public func inferTypes(_ operands: Operands) throws -> [TensorType] {
        guard slot >= 0, window >= 0, softcap >= 0 else {
            throw OperatorError(.invalidAttribute, "slot, window and softcap of cached_attention must not be negative")
        }
        let dtype = try operands.requireSameType(0..<3)
        try operands.require(0, \.isFloat, "a float")
        let q = try operands.type(0).dims
        let k = try operands.type(1).dims
        let v = try operands.type(2).dims
        guard q.count == 4, k.count == 4, v.count == 4 else {
            throw OperatorError(.shapeMismatch, "cached_attention operands of rank \(q.count), \(k.count), \(v.count), expected 4")
        }
        try requireEqual(q[3], k[3], "query and key width differ")
        try requireEqual(k[2], v[2], "key and value heads differ")
        for axis in 0..<2 {
            try requireEqual(q[axis], k[axis], "query and key differ in \(axis == 0 ? "batch" : "sequence")")
            try requireEqual(k[axis], v[axis], "key and value differ in \(axis == 0 ? "batch" : "sequence")")
        }
        if let heads = q[2].fixedValue, let shared = k[2].fixedValue, shared == 0 ? heads != 0 : heads % shared != 0 {
            throw OperatorError(.shapeMismatch, "\(heads) query heads are no multiple of \(shared) key heads")
        }
        if operands.has(3) {
            let mask = try operands.require(3, { $0 == .i64 }, "i64")
            guard mask.rank == 2 else { throw OperatorError(.shapeMismatch, "the mask of cached_attention has rank \(mask.rank), not 2") }
            for (a, b) in zip(mask.dims, q) { try requireEqual(a, b, "mask and query differ") }
        }
        return [TensorType(dtype, [q[0], q[1], q[2], v[3]])]
    }
}

extension CachedAttention {
    /// Attention behind an empty cache.
    public func evaluate(_ inputs: Inputs) throws -> [Tensor] {
        let output = try output(for: inputs)
        return [output.dtype == .f64 ? try evaluate(Double.self, inputs, output) : try evaluate(Float.self, inputs, output)]
    }

    private func evaluate<T: ComputeReal>(_ type: T.Type, _ inputs: Inputs, _ output: (dtype: DType, shape: [Int])) throws -> Tensor {
        let (sequence, heads, valueWidth) = (output.shape[1], output.shape[2], output.shape[3])
        let (shared, width) = (try inputs[1].shape[2], try inputs[0].shape[3])
        let mask = inputs.optional(3)?.integers()
        let (scale, cap) = (T.converting(Double(scale)), T.converting(Double(softcap)))
        return try T.make(output.dtype, output.shape) { out in
            for index in out.indices { out[index] = 0 }
            try T.read(inputs[0]) { q in try T.read(inputs[1]) { k in try T.read(inputs[2]) { v in
                for row in 0..<output.shape[0] * sequence * heads {
                    let (b, i, h) = (row / (sequence * heads), row / heads % sequence, row % heads)
                    let group = h * shared / heads
                    let first = window > 0 ? max(0, i - window + 1) : 0
                    var scores: [(position: Int, score: T)] = []
                    for j in first...i where mask.map({ $0[b * sequence + j] != 0 }) ?? true {
                        var sum: T = 0
                        for index in 0..<width { sum += q[row * width + index] * k[((b * sequence + j) * shared + group) * width + index] }
                        sum *= scale
                        scores.append((j, cap > 0 ? cap * T.tanh(sum / cap) : sum))
                    }
                    guard let largest = scores.map(\.score).max() else { continue }
                    var total: T = 0
                    for index in scores.indices {
                        scores[index].score = T.exp(scores[index].score - largest)
                        total += scores[index].score
                    }
                    for (j, score) in scores {
                        let start = ((b * sequence + j) * shared + group) * valueWidth
                        for index in 0..<valueWidth { out[row * valueWidth + index] += score / total * v[start + index] }
                    }
                }
            } } }
        }
    }
}
