import GraphIR
import Operators
import Tensors

extension DecoderBuilder {
    /// Turns the heads of x, `[batch, sequence, heads, width]`, by the positions of their tokens.
    mutating func rotate(_ x: ValueID, _ rotary: RotaryConfiguration, _ inputs: DecoderInputs, _ name: String) throws -> ValueID {
        let op = RotaryEmbedding(isInterleaved: rotary.isInterleaved, factor: rotary.factor)
        return try graph.apply(op, x, inputs.positions, try frequencies(rotary), name: name)
    }

    /// One constant for all layers that turn alike.
    private mutating func frequencies(_ rotary: RotaryConfiguration) throws -> ValueID {
        if let known = rotaryFrequencies[rotary.frequencies] { return known }
        let tensor = try Tensor(floats: rotary.frequencies, shape: [rotary.frequencies.count])
        let constant = graph.constant(tensor, name: "rotary_frequencies")
        rotaryFrequencies[rotary.frequencies] = constant
        return constant
    }
}
