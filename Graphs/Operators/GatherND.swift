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

extension GatherND {
    public func evaluate(_ inputs: Inputs) throws -> [Tensor] {
        let output = try output(for: inputs)
        let (x, indices) = (try inputs[0], try inputs[1])
        let tuple = indices.shape[indices.rank - 1]
        let block = try Shape.count(Array(x.shape[(batchDims + tuple)...])) * x.dtype.size
        let batchCount = try Shape.count(Array(x.shape[..<batchDims]))
        let tupleCount = try Shape.count(Array(indices.shape.dropLast()))
        let places = try Shape.count(Array(x.shape[batchDims..<batchDims + tuple]))
        let values = indices.integers()
        return [
            try Tensor(dtype: output.dtype, shape: output.shape) { target in
                try x.withUnsafeBytes { source in
                    for row in 0..<tupleCount {
                        var place = row / Swift.max(tupleCount / Swift.max(batchCount, 1), 1) * places
                        place += try tuplePosition(values[row * tuple..<(row + 1) * tuple], sizes: x.shape[batchDims..<batchDims + tuple])
                        guard block > 0 else { continue }
                        UnsafeMutableRawBufferPointer(rebasing: target[row * block..<(row + 1) * block])
                            .copyMemory(from: UnsafeRawBufferPointer(rebasing: source[place * block..<(place + 1) * block]))
                    }
                }
            }
        ]
    }
}

/// The row-major position that an index tuple names.
///
/// - Throws: `OperatorError` where an index lies outside its dimension.
func tuplePosition(_ indices: ArraySlice<Int64>, sizes: ArraySlice<Int>) throws -> Int {
    var place = 0
    for (index, size) in zip(indices, sizes) { place = place * size + (try position(index, size: size)) }
    return place
}
