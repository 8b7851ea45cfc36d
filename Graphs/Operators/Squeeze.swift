import GraphIR
import Tensors

/// Removes dims of size 1.
public struct Squeeze: Operator {
    public let axes: [Int]
    public init(axes: [Int]) { self.axes = axes }
    public static let name = "squeeze"
    public static let arity = 1...1

    public func inferTypes(_ operands: Operands) throws -> [TensorType] {
        let x = try operands.type(0)
        let axes = Set(try normalized(axes: axes, rank: x.rank))
        for axis in axes { try requireEqual(x.dims[axis], 1, "squeeze of dimension \(axis)") }
        return [TensorType(x.dtype, x.dims.indices.filter { !axes.contains($0) }.map { x.dims[$0] })]
    }

    public func inferValues(_ operands: Operands) throws -> [SymbolicTensor?] {
        guard let value = operands.value(0), let shape = try inferTypes(operands)[0].shape else { return [] }
        return [SymbolicTensor(shape: shape, elements: value.elements)]
    }
}

extension Squeeze {
    public func evaluate(_ inputs: Inputs) throws -> [Tensor] {
        let output = try output(for: inputs)
        return [try inputs[0].reshaped(output.shape)]
    }
}
