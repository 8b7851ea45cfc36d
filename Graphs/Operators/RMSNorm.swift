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

extension RMSNorm {
    public func evaluate(_ inputs: Inputs) throws -> [Tensor] {
        let output = try output(for: inputs)
        return [output.dtype == .f64 ? try evaluate(Double.self, inputs, output) : try evaluate(Float.self, inputs, output)]
    }

    private func evaluate<T: ComputeReal>(_ type: T.Type, _ inputs: Inputs, _ output: (dtype: DType, shape: [Int])) throws -> Tensor {
        let width = output.shape[output.shape.count - 1]
        let scale = inputs.optional(1).map(T.elements(of:))
        return try T.make(output.dtype, output.shape) { out in
            try T.read(inputs[0]) { x in
                var start = 0
                while start < x.count {
                    var squares = 0.0
                    for index in start..<start + width { squares += Double(x[index]) * Double(x[index]) }
                    let factor = 1 / (squares / Double(width) + Double(epsilon)).squareRoot()
                    for place in 0..<width {
                        let value = T.converting(Double(x[start + place]) * factor)
                        out[start + place] = scale.map { value * $0[place] } ?? value
                    }
                    start += width
                }
            }
        }
    }
}
