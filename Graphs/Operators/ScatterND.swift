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
