import GraphIR
import Tensors

/// Rotary position embedding (Su et al., 2021, "RoFormer", equation 34). Operands: x `[batch, sequence, heads, width]`, positions i64
/// `[batch, sequence]` or `[1, sequence]`, frequencies f32 `[pairs]` in radians per position. The first `2 * pairs` components of each head turn in
/// pairs: `(a, b)` becomes `(a cos - b sin, a sin + b cos)` with the angle `position * frequency`; the others pass through.
public struct RotaryEmbedding: Operator {
    /// A pair is `(2i, 2i + 1)`, as in GPT-J and in Llama's own weights; otherwise `(i, i + pairs)`.
    public let isInterleaved: Bool
    /// Multiplies sine and cosine (YaRN, Peng et al., 2023, calls its square root of t the attention factor).
    public let factor: Float

    public init(isInterleaved: Bool = false, factor: Float = 1) {
        self.isInterleaved = isInterleaved
        self.factor = factor
    }
    public static let name = "rotary_embedding"
    public static let arity = 3...3

    public func inferTypes(_ operands: Operands) throws -> [TensorType] {
        let x = try operands.require(0, \.isFloat, "a float")
        let positions = try operands.require(1, { $0 == .i64 }, "i64")
        let frequencies = try operands.require(2, { $0 == .f32 }, "f32")
        guard x.rank == 4, positions.rank == 2, frequencies.rank == 1 else {
            throw OperatorError(
                .shapeMismatch, "rotary_embedding of rank \(x.rank), \(positions.rank), \(frequencies.rank), expected 4, 2, 1")
        }
        if positions.dims[0] != 1 { try requireEqual(positions.dims[0], x.dims[0], "positions and input differ in batch") }
        try requireEqual(positions.dims[1], x.dims[1], "positions and input differ in sequence")
        if let pairs = frequencies.dims[0].fixedValue, let width = x.dims[3].fixedValue, pairs > width / 2 {
            throw OperatorError(.shapeMismatch, "\(pairs) frequencies turn more than the head width \(width)")
        }
        return [x]
    }
}

extension RotaryEmbedding {
    public func evaluate(_ inputs: Inputs) throws -> [Tensor] {
        let output = try output(for: inputs)
        return [output.dtype == .f64 ? try evaluate(Double.self, inputs, output) : try evaluate(Float.self, inputs, output)]
    }

    private func evaluate<T: ComputeReal>(_ type: T.Type, _ inputs: Inputs, _ output: (dtype: DType, shape: [Int])) throws -> Tensor {
        let positions = try inputs[1].integers()
        let frequencies = try inputs[2].floats()
        let (batch, sequence, heads, width) = (output.shape[0], output.shape[1], output.shape[2], output.shape[3])
        let positionRows = try inputs[1].shape[0]
        let pairs = frequencies.count
        return try T.make(output.dtype, output.shape) { out in
            try T.read(inputs[0]) { x in
                for index in out.indices { out[index] = x[index] }
                for row in 0..<batch * sequence {
                    let position = positions[positionRows == 1 ? row % sequence : row]
                    for pair in 0..<pairs {
                        // In f32 as the reference implementations have it: at large positions the rounding of the angle shows.
                        let angle = Float(position) * frequencies[pair]
                        let cosine = T.converting(Double(Float.cos(angle) * factor))
                        let sine = T.converting(Double(Float.sin(angle) * factor))
                        let (first, second) = isInterleaved ? (2 * pair, 2 * pair + 1) : (pair, pair + pairs)
                        for head in 0..<heads {
                            let start = (row * heads + head) * width
                            let (a, b) = (x[start + first], x[start + second])
                            out[start + first] = a * cosine - b * sine
                            out[start + second] = a * sine + b * cosine
                        }
                    }
                }
            }
        }
    }
}
