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

extension LayerNorm {
    public func evaluate(_ inputs: Inputs) throws -> [Tensor] {
        let output = try output(for: inputs)
        return [output.dtype == .f64 ? try evaluate(Double.self, inputs, output) : try evaluate(Float.self, inputs, output)]
    }

    private func evaluate<T: ComputeReal>(_ type: T.Type, _ inputs: Inputs, _ output: (dtype: DType, shape: [Int])) throws -> Tensor {
        let normalizedShape = Array(output.shape.suffix(normalizedRank))
        let width = try Shape.count(normalizedShape)
        func parameter(_ index: Int) throws -> [T]? {
            guard let tensor = inputs.optional(index) else { return nil }
            return T.elements(of: try stridedCopy(
                tensor, shape: normalizedShape, strides: Shape.broadcastStrides(tensor.shape, to: normalizedShape)))
        }
        let scale = try parameter(1)
        let bias = try parameter(2)
        let residual = inputs.optional(3).map(T.elements(of:))
        return try T.make(output.dtype, output.shape) { out in
            try T.read(inputs[0]) { x in
                var start = 0
                while start < x.count {
                    var sum = 0.0
                    for index in start..<start + width {
                        out[index] = residual.map { x[index] + $0[index] } ?? x[index]
                        sum += Double(out[index])
                    }
                    let mean = sum / Double(width)
                    var squares = 0.0
                    for index in start..<start + width {
                        let difference = Double(out[index]) - mean
                        squares += difference * difference
                    }
                    let factor = 1 / (squares / Double(width) + Double(epsilon)).squareRoot()
                    for place in 0..<width {
                        var value = T.converting((Double(out[start + place]) - mean) * factor)
                        if let scale { value *= scale[place] }
                        if let bias { value += bias[place] }
                        out[start + place] = value
                    }
                    start += width
                }
            }
        }
    }
}
