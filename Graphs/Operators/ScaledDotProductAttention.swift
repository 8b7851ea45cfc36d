import GraphIR
import Tensors

/// `softmax(q k^T * scale + mask) v` (Vaswani et al., 2017). Operands: q `[batch, heads, queries, width]`,
/// k `[batch, kv_heads, keys, width]`, v `[batch, kv_heads, keys, value_width]`, mask (absent, bool with true = attend, or a float
/// that is added; broadcasts to `[batch, heads, queries, keys]`). `heads` is a multiple of `kv_heads`; query head h reads
/// key head h * kv_heads / heads. The output is `[batch, heads, queries, value_width]`.
///
/// A row whose keys are all excluded by a bool mask or a mask of minus infinity gives NaN, as the formula does, or zeros.
public struct ScaledDotProductAttention: Operator {
    public let scale: Float
    /// Query i sees keys up to `i + keys - queries`.
    public let isCausal: Bool
    /// Rows without any key give zeros instead of NaN (what exporters spell as IsNaN and Where behind the softmax).
    public let emptyRowsAreZero: Bool

    public init(scale: Float, isCausal: Bool = false, emptyRowsAreZero: Bool = false) {
        self.scale = scale
        self.isCausal = isCausal
        self.emptyRowsAreZero = emptyRowsAreZero
    }
    public static let name = "scaled_dot_product_attention"
    public static let arity = 3...4

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
        return [TensorType(dtype, [q[0], q[1], q[2], v[3]])]
    }
}
