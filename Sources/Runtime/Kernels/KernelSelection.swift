import GraphIR
import Operators
import Tensors

/// Which kernel runs a node.
enum KernelSelection {
    /// The fast kernel of a node; nil where its reference evaluation does the work.
    static func fast(_ request: KernelRequest) -> (any Kernel)? {
        guard !request.outputs.isEmpty else { return nil }
        return direct(request) ?? HalfPrecisionKernel(request)
    }

    private static func direct(_ request: KernelRequest) -> (any Kernel)? {
        switch request.op {
        case let op as Linear: return StoredLinearKernel(op, request) ?? LinearKernel(op, request)
        case let op as GatedActivation: return GatedActivationKernel(op, request)
        case let op as MatMul: return MatMulKernel(op, request)
        case let op as ScaledDotProductAttention: return AttentionKernel(op, request)
        case let op as CachedAttention: return CachedAttentionKernel(op, request)
        case is CachePositions: return CachePositionsKernel(request)
        case is PadTokens: return PadTokensKernel(request)
        case let op as RotaryEmbedding: return RotaryEmbeddingKernel(op, request)
        case let op as LayerNorm: return NormKernel(op, request)
        case let op as RMSNorm: return NormKernel(op, request)
        case let op as Softmax: return SoftmaxKernel(op, request)
        case let op as Unary: return unaryKernel(op, request)
        case let op as Binary: return binaryKernel(op, request)
        case let op as Compare: return compareKernel(op, request)
        case is Select: return SelectKernel(request)
        case is Cast: return castKernel(request)
        case let op as Reduce: return ReduceKernel(op, request)
        case let op as Embedding: return EmbeddingKernel(op, request)
        case let op as Gather: return StoredGatherKernel(op, request) ?? GatherKernel(op, request)
        case let op as Concat: return ConcatKernel(op, request)
        case let op as Transpose: return CopyKernel(op, request)
        case let op as Slice: return CopyKernel(op, request)
        case is Expand: return CopyKernel(expanding: request)
        case let op as Quantize: return QuantizeKernel(op, request)
        case let op as Dequantize: return DequantizeKernel(op, request)
        case is DynamicQuantize: return DynamicQuantizeKernel(request)
        case is QuantizeRows: return QuantizeRowsKernel(request)
        case is MatMulInteger: return MatMulIntegerKernel(request)
        case let op as QuantizedLinear: return QuantizedLinearKernel(op, request)
        default: return nil
        }
    }

    /// The operand whose elements, in the same order, are the output: such a node needs no kernel.
    static func alias(_ request: KernelRequest) -> Int? {
        guard request.outputs.count == 1, let output = request.outputs.first else { return nil }
        func unchanged(_ index: Int) -> Int? { request.operand(index) == output ? index : nil }
        switch request.op {
        case is Reshape, is Squeeze, is ExpandDims:
            return request.operand(0)?.count == output.count && request.operand(0)?.dtype == output.dtype ? 0 : nil
        case is Cast, is Expand, is Tile: return unchanged(0)
        case let op as Reduce: return op.axes.isEmpty ? unchanged(0) : nil
        case let op as Transpose:
            guard let shape = request.operand(0)?.shape, op.permutation.allSatisfy(shape.indices.contains) else { return nil }
            let moved = op.permutation.filter { shape[$0] != 1 }
            return moved == moved.sorted() ? 0 : nil
        case is Slice:
            if request.operand(3) != nil {
                guard let steps = request.constant(3)?.integers(), steps.allSatisfy({ $0 > 0 }) else { return nil }
            }
            return unchanged(0)
        case is Concat:
            let filled = request.operands.indices.filter { (request.operand($0)?.count ?? 0) > 0 }
            return filled.count == 1 ? filled.first.flatMap(unchanged) : nil
        default: return nil
        }
    }
}
