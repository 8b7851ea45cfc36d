import GraphIR
import Tensors

/// Slices of x by index tuples: the last dim of indices holds tuples over the dims of x after the first `batchDims`, which both share.
/// Operands: x, indices (i64). Negative indices count from the end.
public struct GatherND: Operator {
    public let batchDims: Int
    public init(batchDims: Int = 0) { self.batchDims = batchDims }
    public static let name = "gather_nd"
    public static let arity = 2...2

    public func inferTypes(_ operands: Operands) throws -> [TensorType] {
        let x = try operands.type(0)
        let indices = try operands.require(1, { $0 == .i64 || $0 == .i32 }, "i32 or i64")
        guard let tuple = indices.dims.last?.fixedValue else {
            throw OperatorError(.shapeMismatch, "the last dimension of the indices of gather_nd must be a number")
        }
        guard batchDims >= 0, batchDims < indices.rank, tuple >= 0, batchDims + tuple <= x.rank else {
            throw OperatorError(.shapeMismatch, "gather_nd of \(x) by \(indices) with \(batchDims) batch dimensions")
        }
        for axis in 0..<batchDims { try requireEqual(x.dims[axis], indices.dims[axis], "batch dimension \(axis) differs") }
        return [TensorType(x.dtype, indices.dims.dropLast() + x.dims[(batchDims + tuple)...])]
    }
}
