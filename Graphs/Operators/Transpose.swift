import GraphIR
import Tensors

/// Permutes the dims: dim i of the output is dim `permutation[i]` of the operand.
public struct Transpose: Operator {
    public let permutation: [Int]
    public init(permutation: [Int]) { self.permutation = permutation }
    public static let name = "transpose"
    public static let arity = 1...1

    public func inferTypes(_ operands: Operands) throws -> [TensorType] {
        let x = try operands.type(0)
        guard permutation.sorted() == Array(0..<x.rank) else {
            throw OperatorError(.invalidAttribute, "\(permutation) is no permutation of \(x.rank) dimensions")
        }
        return [TensorType(x.dtype, permutation.map { x.dims[$0] })]
    }

    public func inferValues(_ operands: Operands) throws -> [SymbolicTensor?] {
        guard let value = operands.value(0), value.shape.count <= 1 else { return [] }
        return [value]
    }
}

extension Transpose {
    public func evaluate(_ inputs: Inputs) throws -> [Tensor] {
        let output = try output(for: inputs)
        let x = try inputs[0]
        let strides = Shape.strides(x.shape)
        return [try stridedCopy(x, shape: output.shape, strides: permutation.map { strides[$0] })]
    }
}
