import GraphIR
import Operators

/// GPT-2 (Radford et al., 2019): learned positions, layer norms before each part, and one matrix for queries, keys and values.
struct GPT2Architecture: DecoderArchitecture {
    static let modelTypes = ["gpt2"]
    static let prefix = "transformer."
    static let anchor = "wte.weight"

    let decoder: DecoderConfiguration
    /// What scores are multiplied by, for each layer.
    let scales: [Float]
    var maximumPositions: Int? { decoder.positionCount }

    init(reading reader: inout ConfigurationReader) {
        var keys = DecoderConfiguration.Keys()
        keys.positionCount = "n_positions"
        keys.hiddenSize = "n_embd"
        keys.layerCount = "n_layer"
        keys.headCount = "n_head"
        keys.keyValueHeadCount = nil
        keys.headSize = nil
        keys.intermediateSize = "n_inner"
        keys.isIntermediateSizeDerived = true
        keys.activation = "activation_function"
        keys.defaultActivation = .gelu_tanh
        keys.normEpsilon = "layer_norm_epsilon"
        keys.defaultNormEpsilon = 1e-5
        keys.defaultIsTied = true
        let decoder = DecoderConfiguration(reading: &reader, keys: keys)
        self.decoder = decoder
        let scale = reader.flag("scale_attn_weights", default: true) ? decoder.standardScale : 1
        let isDividedByLayer = reader.flag("scale_attn_by_inverse_layer_idx", default: false)
        scales = (0..<decoder.layerCount).map { isDividedByLayer ? scale / Float($0 + 1) : scale }
        // Scores are computed in f32 whatever this says.
        _ = reader.flag("reorder_and_upcast_attn", default: false)
    }

    func build(_ head: DecoderHead, in builder: inout DecoderBuilder) throws {
        let inputs = try builder.inputs()
        let words = try builder.embedding(inputs.tokens, "wte", [decoder.vocabularySize, decoder.hiddenSize])
        var hidden = try builder.graph.apply(Binary(.add), words, try builder.learnedPositions(inputs, "wpe"), name: "wpe")
        for (layer, scale) in scales.enumerated() {
            let name = "h.\(layer)"
            let normed = try builder.norm(hidden, "\(name).ln_1")
            let packed = try linear(normed, "\(name).attn.c_attn", to: 3 * decoder.hiddenSize, in: &builder)
            let context = try builder.attention(
                try builder.packedOperands(packed, "\(name).attn.c_attn"), inputs, layer: layer, AttentionForm(scale: scale), "\(name).attn")
            let attended = try linear(context, "\(name).attn.c_proj", to: decoder.hiddenSize, residual: hidden, in: &builder)
            let inner = try linear(
                try builder.norm(attended, "\(name).ln_2"), "\(name).mlp.c_fc", to: decoder.intermediateSize, decoder.activation, in: &builder)
            hidden = try linear(inner, "\(name).mlp.c_proj", to: decoder.hiddenSize, residual: attended, in: &builder)
        }
        try builder.outputs(head, try builder.norm(hidden, "ln_f", output: "last_hidden_state"), embedding: "wte")
    }

    /// Matrices are stored `[in, out]`, unlike those of other models.
    private func linear(
        _ x: ValueID, _ name: String, to width: Int, _ activation: Activation = .none, residual: ValueID? = nil, in builder: inout DecoderBuilder
    ) throws -> ValueID {
        try builder.linear(x, name, to: width, activation, residual: residual, isTransposed: true)
    }
}
