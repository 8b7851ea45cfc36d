import GraphIR
import Tensors

/// Rows of x along one axis by index: `x.shape[..<axis] + indices.shape + x.shape[axis+1...]`. Operands: x, indices (i32 or i64; negative
/// ones count from the end). An index outside the axis is an error. Rows (axis 0) of a table in blocks come out as f32.
public struct Gather: Operator {
    public let axis: Int
    public init(axis: Int) { self.axis = axis }
    public static let name = "gather"
    public static let arity = 2...2

    public func inferTypes(_ operands: Operands) throws -> [TensorType] {
        let x = try operands.weightType(0)
        let indices = try operands.require(1, { $0 == .i64 || $0 == .i32 }, "i32 or i64")
        let axis = try normalized(axis: axis, rank: x.rank)
        guard !x.dtype.isBlock || (axis == 0 && x.rank > 1) else {
            throw OperatorError(.typeMismatch, "gather from \(x) along axis \(axis): only whole rows of blocks are taken, axis 0")
        }
        return [TensorType(x.dtype.isBlock ? .f32 : x.dtype, x.dims[..<axis] + indices.dims + x.dims[(axis + 1)...])]
    }

    public func inferValues(_ operands: Operands) throws -> [SymbolicTensor?] {
        guard let x = operands.value(0), x.shape.count == 1, let indices = operands.value(1), let fixed = indices.fixedValues else { return [] }
        var elements: [Dim] = []
        for index in fixed {
            let position = index < 0 ? index &+ x.elements.count : index
            guard x.elements.indices.contains(position) else {
                throw OperatorError(.shapeMismatch, "index \(index) is outside \(x.elements.count) elements")
            }
            elements.append(x.elements[position])
        }
        return [SymbolicTensor(shape: indices.shape, elements: elements)]
    }
}

extension Gather {
    public func evaluate(_ inputs: Inputs) throws -> [Tensor] {
        let output = try output(for: inputs)
        let x = try inputs[0]
        let axis = try normalized(axis: axis, rank: x.rank)
        let positions = try inputs[1].integers().map { try position($0, size: x.shape[axis]) }
        return [try take(x, axis: axis, positions: positions).converted(to: output.dtype).reshaped(output.shape)]
    }
}
