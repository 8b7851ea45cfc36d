import GraphIR
import Tensors

/// Root mean square normalisation (Zhang and Sennrich, 2019) over the last dim: `x / sqrt(mean(x^2) + epsilon) * scale`. Operands: x,
/// scale `[width]` or absent.
public struct RMSNorm: Operator {
    public let epsilon: Float
    public init(epsilon: Float) { self.epsilon = epsilon }
    public static let name = "rms_norm"
    public static let arity = 1...2

    public func inferTypes(_ operands: Operands) throws -> [TensorType] {
        try operands.requireSameType(0..<2)
        let type = try operands.require(0, \.isFloat, "a float")
        guard let width = type.dims.last else { throw OperatorError(.shapeMismatch, "the input of rms_norm is a scalar") }
        if let scale = operands.optional(1)?.type {
            guard scale.rank == 1 else { throw OperatorError(.shapeMismatch, "the scale of rms_norm has rank \(scale.rank), not 1") }
            try requireEqual(scale.dims[0], width, "scale and input of rms_norm differ")
        }
        return [type]
    }
}
