import GraphIR
import Operators
import Tensors

/// The module names of one layer.
struct LayerNames {
    var query, key, value, attentionOutput, attentionNorm: String
    var intermediate, output, outputNorm: String

    /// Those of BERT, which most encoders inherit.
    static func bert(_ layer: Int) -> LayerNames {
        let prefix = "encoder.layer.\(layer)"
        return LayerNames(
            query: "\(prefix).attention.self.query", key: "\(prefix).attention.self.key", value: "\(prefix).attention.self.value",
            attentionOutput: "\(prefix).attention.output.dense", attentionNorm: "\(prefix).attention.output.LayerNorm",
            intermediate: "\(prefix).intermediate.dense", output: "\(prefix).output.dense", outputNorm: "\(prefix).output.LayerNorm")
    }
}

extension EncoderBuilder {
    /// All layers; the last one's output is called `last_hidden_state`.
    mutating func layers(_ hidden: ValueID, mask: ValueID, _ names: (Int) -> LayerNames) throws -> ValueID {
        var hidden = hidden
        for index in 0..<configuration.layerCount {
            let isLast = index == configuration.layerCount - 1
            hidden = try layer(hidden, mask: mask, names(index), output: isLast ? "last_hidden_state" : nil)
        }
        return hidden
    }

    /// Self-attention and feed-forward network, each added to its input and then normalised (post-norm; Vaswani et al., 2017).
    private mutating func layer(_ x: ValueID, mask: ValueID, _ names: LayerNames, output: String?) throws -> ValueID {
        let attended = try norm(try selfAttention(x, mask: mask, names), names.attentionNorm, residual: x)
        let inner = try linear(attended, names.intermediate, to: configuration.intermediateSize, configuration.activation)
        let outer = try linear(inner, names.output, to: configuration.hiddenSize)
        return try norm(outer, names.outputNorm, residual: attended, output: output)
    }

    private mutating func selfAttention(_ x: ValueID, mask: ValueID, _ names: LayerNames) throws -> ValueID {
        let query = try linear(x, names.query, to: configuration.hiddenSize)
        let key = try linear(x, names.key, to: configuration.hiddenSize)
        let value = try linear(x, names.value, to: configuration.hiddenSize)
        let form = WholeAttention(
            heads: configuration.headCount, width: configuration.headSize, scale: 1 / Float(configuration.headSize).squareRoot())
        let context = try attention(query, key, value, mask: mask, form, names.attentionOutput)
        return try linear(context, names.attentionOutput, to: configuration.hiddenSize)
    }
}
