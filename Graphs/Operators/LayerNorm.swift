import GraphIR
import Tensors

/// Layer normalisation (Ba, Kiros and Hinton, 2016) over the last `normalizedRank` dims:
/// `(x - mean) / sqrt(variance + epsilon) * scale + bias` with the biased variance. Operands: x, scale, bias (the shape of the
/// normalised dims; either may be absent), residual (the shape of x; added to x first) or absent.
public struct LayerNorm: Operator {
    public let epsilon: Float
    public let normalizedRank: Int

    public init(epsilon: Float, normalizedRank: Int = 1) {
        self.epsilon = epsilon
        self.normalizedRank = normalizedRank
    }
    public static let name = "layer_norm"
    public static let arity = 1...4

    public func inferTypes(_ operands: Operands) throws -> [TensorType] {
        try operands.requireSameType(0..<4)
        let type = try operands.require(0, \.isFloat, "a float")
        guard normalizedRank >= 1, normalizedRank <= type.rank else {
            throw OperatorError(.invalidAttribute, "normalised rank \(normalizedRank) of a tensor of rank \(type.rank)")
        }
        for index in 1..<3 {
            guard let parameter = operands.optional(index)?.type else { continue }
            // Scales and biases may broadcast over leading normalised dims, as ONNX allows.
            guard parameter.rank <= normalizedRank else { throw OperatorError(.shapeMismatch, "operand \(index) of layer_norm has rank \(parameter.rank)") }
            for (a, b) in zip(parameter.dims, type.dims.suffix(parameter.rank)) where a != 1 {
                try requireEqual(a, b, "operand \(index) of layer_norm differs from the input")
            }
        }
        if let residual = operands.optional(3)?.type {
            guard residual.rank == type.rank else { throw OperatorError(.shapeMismatch, "the residual of layer_norm has rank \(residual.rank)") }
            for (a, b) in zip(residual.dims, type.dims) { try requireEqual(a, b, "the residual differs from the input") }
        }
        return [type]
    }
}
