import GraphIR
import Tensors

/// A copy of x with slices replaced: the slice at the tuple `indices[i...]` becomes `updates[i...]`. Operands: x, indices (i64), updates.
public struct ScatterND: Operator {
    public init() {}
    public static let name = "scatter_nd"
    public static let arity = 3...3

    public func inferTypes(_ operands: Operands) throws -> [TensorType] {
        let x = try operands.type(0)
        let indices = try operands.require(1, { $0 == .i64 || $0 == .i32 }, "i32 or i64")
        try operands.requireSameType([0, 2])
        let updates = try operands.type(2)
        guard let tuple = indices.dims.last?.fixedValue, tuple >= 0, tuple <= x.rank else {
            throw OperatorError(.shapeMismatch, "scatter_nd into \(x) by \(indices)")
        }
        let expected = indices.dims.dropLast() + x.dims[tuple...]
        guard updates.rank == expected.count else { throw OperatorError(.shapeMismatch, "updates \(updates), expected [\(text(Array(expected)))]") }
        for (a, b) in zip(updates.dims, expected) { try requireEqual(a, b, "updates of scatter_nd differ from the slices") }
        return [x]
    }
}

extension ScatterND {
    public func evaluate(_ inputs: Inputs) throws -> [Tensor] {
        let output = try output(for: inputs)
        let (x, indices, updates) = (try inputs[0], try inputs[1], try inputs[2])
        let tuple = indices.shape[indices.rank - 1]
        let block = try Shape.count(Array(x.shape[tuple...])) * x.dtype.size
        let tupleCount = try Shape.count(Array(indices.shape.dropLast()))
        let values = indices.integers()
        return [
            try Tensor(dtype: output.dtype, shape: output.shape) { target in
                x.withUnsafeBytes { target.copyMemory(from: $0) }
                try updates.withUnsafeBytes { source in
                    for row in 0..<tupleCount {
                        let place = try tuplePosition(values[row * tuple..<(row + 1) * tuple], sizes: x.shape[..<tuple])
                        guard block > 0 else { continue }
                        UnsafeMutableRawBufferPointer(rebasing: target[place * block..<(place + 1) * block])
                            .copyMemory(from: UnsafeRawBufferPointer(rebasing: source[row * block..<(row + 1) * block]))
                    }
                }
            }
        ]
    }
}
