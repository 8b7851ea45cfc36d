import GraphIR
import Tensors

/// Inserts dims of size 1 at the given places of the output.
public struct ExpandDims: Operator {
    public let axes: [Int]
    public init(axes: [Int]) { self.axes = axes }
    public static let name = "expand_dims"
    public static let arity = 1...1

    public func inferTypes(_ operands: Operands) throws -> [TensorType] {
        let x = try operands.type(0)
        let axes = Set(try normalized(axes: axes, rank: x.rank + axes.count))
        var rest = x.dims.makeIterator()
        let dims = (0..<x.rank + axes.count).compactMap { axes.contains($0) ? 1 : rest.next() }
        return [TensorType(x.dtype, dims)]
    }

    public func inferValues(_ operands: Operands) throws -> [SymbolicTensor?] {
        guard let value = operands.value(0), let shape = try inferTypes(operands)[0].shape else { return [] }
        return [SymbolicTensor(shape: shape, elements: value.elements)]
    }
}

extension ExpandDims {
    public func evaluate(_ inputs: Inputs) throws -> [Tensor] {
        let output = try output(for: inputs)
        return [try inputs[0].reshaped(output.shape)]
    }
}
