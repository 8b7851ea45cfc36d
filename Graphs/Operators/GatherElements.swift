import GraphIR
import Tensors

/// `out[i][j][k] = x[i][indices[i][j][k]][k]` (for axis 1): one index per output element. Operands: x, indices (i32 or i64) of the same
/// rank; the output has the shape of indices. Negative indices count from the end.
public struct GatherElements: Operator {
    public let axis: Int
    public init(axis: Int) { self.axis = axis }
    public static let name = "gather_elements"
    public static let arity = 2...2

    public func inferTypes(_ operands: Operands) throws -> [TensorType] {
        let x = try operands.type(0)
        let indices = try operands.require(1, { $0 == .i64 || $0 == .i32 }, "i32 or i64")
        _ = try normalized(axis: axis, rank: x.rank)
        guard x.rank == indices.rank else {
            throw OperatorError(.shapeMismatch, "indices of rank \(indices.rank) for a tensor of rank \(x.rank)")
        }
        return [TensorType(x.dtype, indices.dims)]
    }
}

extension GatherElements {
    public func evaluate(_ inputs: Inputs) throws -> [Tensor] {
        let output = try output(for: inputs)
        let x = try inputs[0]
        let axis = try normalized(axis: axis, rank: x.rank)
        for other in x.shape.indices where other != axis && output.shape[other] > x.shape[other] {
            throw OperatorError(.shapeMismatch, "indices of shape \(output.shape) for a tensor of shape \(x.shape)")
        }
        let strides = Shape.strides(x.shape)
        let indexStrides = Shape.strides(output.shape)
        let size = x.dtype.size
        let indices = try inputs[1].integers()
        return [
            try Tensor(dtype: output.dtype, shape: output.shape) { target in
                try x.withUnsafeBytes { source in
                    for (place, index) in indices.enumerated() {
                        var from = try position(index, size: x.shape[axis]) * strides[axis]
                        for other in x.shape.indices where other != axis {
                            from += place / indexStrides[other] % output.shape[other] * strides[other]
                        }
                        for byte in 0..<size { target[place * size + byte] = source[from * size + byte] }
                    }
                }
            }
        ]
    }
}
