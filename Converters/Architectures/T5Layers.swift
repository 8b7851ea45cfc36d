import GraphIR
import Operators

extension ModelBuilder<T5Configuration> {
    /// The states of the text that is read, `[batch, sequence, hidden]`.
    mutating func t5Encoder(_ tokens: ValueID, _ padding: ValueID, output: String) throws -> ValueID {
        let bias = try t5Bias(tokens, "encoder", isBidirectional: true)
        let mask = try graph.apply(Binary(.add), bias, padding, name: "mask")
        var hidden = try t5Embedding(tokens)
        for block in 0..<configuration.encoderLayerCount {
            let name = "encoder.block.\(block)"
            hidden = try t5SelfAttention(hidden, mask, isCausal: false, "\(name).layer.0")
            hidden = try t5FeedForward(hidden, "\(name).layer.1")
        }
        return try rmsNorm(hidden, "encoder.final_layer_norm", output: output)
    }

    /// The states of the text that is written, `[batch, decoder_sequence, hidden]`.
    mutating func t5Decoder(_ tokens: ValueID, _ encoded: ValueID, _ padding: ValueID) throws -> ValueID {
        let mask = try t5Bias(tokens, "decoder", isBidirectional: false)
        var hidden = try t5Embedding(tokens)
        for block in 0..<configuration.decoderLayerCount {
            let name = "decoder.block.\(block)"
            hidden = try t5SelfAttention(hidden, mask, isCausal: true, "\(name).layer.0")
            let normed = try rmsNorm(hidden, "\(name).layer.1.layer_norm")
            hidden = try t5Attention(
                normed, over: encoded, padding, isCausal: false, "\(name).layer.1.EncDecAttention", residual: hidden)
            hidden = try t5FeedForward(hidden, "\(name).layer.2")
        }
        return try rmsNorm(hidden, "decoder.final_layer_norm")
    }

    private mutating func t5Embedding(_ tokens: ValueID) throws -> ValueID {
        try embedding(tokens, "shared", [configuration.vocabularySize, configuration.hiddenSize])
    }

    /// The first block's biases, which all blocks use.
    private mutating func t5Bias(_ tokens: ValueID, _ stack: String, isBidirectional: Bool) throws -> ValueID {
        try relativePositionBias(
            tokens, "\(stack).block.0.layer.0.SelfAttention.relative_attention_bias",
            configuration.buckets(isBidirectional: isBidirectional), rows: configuration.bucketCount, heads: configuration.headCount)
    }

    private mutating func t5SelfAttention(_ x: ValueID, _ mask: ValueID, isCausal: Bool, _ name: String) throws -> ValueID {
        let normed = try rmsNorm(x, "\(name).layer_norm")
        return try t5Attention(normed, over: normed, mask, isCausal: isCausal, "\(name).SelfAttention", residual: x)
    }

    /// Scores are not scaled: the initial weights are so small that they need not be.
    private mutating func t5Attention(
        _ x: ValueID, over source: ValueID, _ mask: ValueID, isCausal: Bool, _ name: String, residual: ValueID
    ) throws -> ValueID {
        let form = WholeAttention(heads: configuration.headCount, width: configuration.headSize, scale: 1, isCausal: isCausal)
        let width = form.heads * form.width
        let query = try linear(x, "\(name).q", to: width, hasBias: false)
        let key = try linear(source, "\(name).k", to: width, hasBias: false)
        let value = try linear(source, "\(name).v", to: width, hasBias: false)
        let context = try attention(query, key, value, mask: mask, form, name)
        return try linear(context, "\(name).o", to: configuration.hiddenSize, hasBias: false, residual: residual)
    }

    private mutating func t5FeedForward(_ x: ValueID, _ name: String) throws -> ValueID {
        let normed = try rmsNorm(x, "\(name).layer_norm")
        let (dense, width) = ("\(name).DenseReluDense", configuration.intermediateSize)
        var inner = try linear(normed, configuration.isGated ? "\(dense).wi_0" : "\(dense).wi", to: width, configuration.activation, hasBias: false)
        if configuration.isGated {
            inner = try graph.apply(Binary(.mul), inner, try linear(normed, "\(dense).wi_1", to: width, hasBias: false), name: dense)
        }
        return try linear(inner, "\(dense).wo", to: configuration.hiddenSize, hasBias: false, residual: x)
    }
}
