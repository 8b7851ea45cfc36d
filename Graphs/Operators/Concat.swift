import GraphIR
import Tensors

/// Joins tensors of one type along an axis; they agree in all other dims.
public struct Concat: Operator {
    public let axis: Int
    public init(axis: Int) { self.axis = axis }
    public static let name = "concat"
    public static let arity = 1...65_536

    public func inferTypes(_ operands: Operands) throws -> [TensorType] {
        let dtype = try operands.requireSameType(0..<operands.count)
        var dims = try operands.type(0).dims
        let axis = try normalized(axis: axis, rank: dims.count)
        for index in 1..<max(operands.count, 1) {
            let other = try operands.type(index).dims
            guard other.count == dims.count else { throw OperatorError(.shapeMismatch, "concat of rank \(dims.count) and \(other.count)") }
            for position in dims.indices {
                dims[position] = position == axis
                    ? try dims[position] + other[position]
                    : try unified(dims[position], other[position], "concat of [\(text(dims))] and [\(text(other))] along axis \(axis)")
            }
        }
        return [TensorType(dtype, dims)]
    }

    public func inferValues(_ operands: Operands) throws -> [SymbolicTensor?] {
        var elements: [Dim] = []
        for index in 0..<operands.count {
            guard let value = operands.value(index), value.shape.count == 1 else { return [] }
            elements += value.elements
        }
        return [SymbolicTensor(elements)]
    }
}
