import GraphIR
import Operators

/// OPT (Zhang et al., 2022): learned positions behind two unused rows; the norms stand before each part or behind it.
struct OPTArchitecture: DecoderArchitecture {
    static let modelTypes = ["opt"]
    static let prefix = "model.decoder."
    static let anchor = "embed_tokens.weight"
    /// Rows of the position table that no position has.
    private static let positionOffset = 2

    let decoder: DecoderConfiguration
    /// Components of the word embeddings; where they differ from the hidden size, matrices lead there and back.
    let embeddingSize: Int
    let isNormFirst: Bool
    let hasFinalNorm: Bool
    let hasBias: Bool
    let hasNormParameters: Bool
    var maximumPositions: Int? { decoder.positionCount }

    init(reading reader: inout ConfigurationReader) {
        var keys = DecoderConfiguration.Keys()
        keys.keyValueHeadCount = nil
        keys.headSize = nil
        keys.intermediateSize = "ffn_dim"
        keys.activation = "activation_function"
        keys.defaultActivation = .relu
        // PyTorch's, which the reference implementation leaves as it is.
        keys.normEpsilon = nil
        keys.defaultNormEpsilon = 1e-5
        keys.defaultIsTied = true
        decoder = DecoderConfiguration(reading: &reader, keys: keys)
        embeddingSize = reader.sizeOrNone("word_embed_proj_dim", in: 1...1 << 16, default: nil) ?? decoder.hiddenSize
        isNormFirst = reader.flag("do_layer_norm_before", default: true)
        hasFinalNorm = isNormFirst && !reader.flag("_remove_final_layer_norm", default: false)
        hasBias = reader.flag("enable_bias", default: true)
        hasNormParameters = reader.flag("layer_norm_elementwise_affine", default: true)
    }

    func build(_ head: DecoderHead, in builder: inout DecoderBuilder) throws {
        let inputs = try builder.inputs()
        var words = try builder.embedding(inputs.tokens, "embed_tokens", [decoder.vocabularySize, embeddingSize])
        if embeddingSize != decoder.hiddenSize { words = try builder.linear(words, "project_in", to: decoder.hiddenSize, hasBias: false) }
        let positions = try builder.learnedPositions(inputs, "embed_positions", offset: Self.positionOffset)
        var hidden = try builder.graph.apply(Binary(.add), words, positions, name: "embed_positions")
        for layer in 0..<decoder.layerCount { hidden = try self.layer(layer, hidden, inputs, in: &builder) }
        if hasFinalNorm { hidden = try norm(hidden, "final_layer_norm", in: &builder) }
        if embeddingSize != decoder.hiddenSize { hidden = try builder.linear(hidden, "project_out", to: embeddingSize, hasBias: false) }
        try builder.outputs(head, hidden, embedding: "embed_tokens")
    }

    private func layer(_ layer: Int, _ x: ValueID, _ inputs: DecoderInputs, in builder: inout DecoderBuilder) throws -> ValueID {
        let name = "layers.\(layer)"
        let attention = "\(name).self_attn"
        let normed = isNormFirst ? try norm(x, "\(name).self_attn_layer_norm", in: &builder) : x
        let operands = try builder.separateOperands(
            normed, "\(attention).q_proj", "\(attention).k_proj", "\(attention).v_proj", hasBias: hasBias)
        let context = try builder.attention(operands, inputs, layer: layer, AttentionForm(scale: decoder.standardScale), attention)
        var attended = try builder.linear(context, "\(attention).out_proj", to: decoder.hiddenSize, hasBias: hasBias, residual: x)
        if !isNormFirst { attended = try norm(attended, "\(name).self_attn_layer_norm", in: &builder) }

        let source = isNormFirst ? try norm(attended, "\(name).final_layer_norm", in: &builder) : attended
        let inner = try builder.linear(source, "\(name).fc1", to: decoder.intermediateSize, decoder.activation, hasBias: hasBias)
        let outer = try builder.linear(inner, "\(name).fc2", to: decoder.hiddenSize, hasBias: hasBias, residual: attended)
        return isNormFirst ? outer : try norm(outer, "\(name).final_layer_norm", in: &builder)
    }

    private func norm(_ x: ValueID, _ name: String, in builder: inout DecoderBuilder) throws -> ValueID {
        try builder.norm(x, name, hasParameters: hasNormParameters)
    }
}
