import GraphIR
import Operators

/// GPT-NeoX and Pythia (Black et al., 2022): rotation of a part of each head, and attention and feed-forward network side by side.
struct GPTNeoXArchitecture: DecoderArchitecture {
    static let modelTypes = ["gpt_neox"]
    static let prefix = "gpt_neox."
    static let anchor = "embed_in.weight"

    let decoder: DecoderConfiguration
    let attention: AttentionForm
    let hasAttentionBias: Bool
    /// Attention and feed-forward network both read the layer's input, instead of one after the other.
    let isParallel: Bool
    /// Query, key and value of a head stand together in the packed matrix; otherwise all queries come first.
    let isPackedByHead: Bool
    var maximumPositions: Int? { min(decoder.positionCount, attention.rotary?.limit ?? decoder.positionCount) }

    init(reading reader: inout ConfigurationReader) {
        var keys = DecoderConfiguration.Keys()
        keys.keyValueHeadCount = nil
        keys.headSize = nil
        keys.defaultActivation = .gelu
        keys.normEpsilon = "layer_norm_eps"
        keys.defaultNormEpsilon = 1e-5
        decoder = DecoderConfiguration(reading: &reader, keys: keys)
        let rotary = reader.rotary(
            headSize: decoder.headSize, positionCount: decoder.positionCount,
            RotaryDefaults(thetaKey: "rotary_emb_base", partialFactor: 0.25, partialFactorKey: "rotary_pct"))
        attention = AttentionForm(scale: decoder.standardScale, rotary: rotary)
        hasAttentionBias = reader.flag("attention_bias", default: true)
        isParallel = reader.flag("use_parallel_residual", default: true)
        // GGUF files have the rows in another order; their importer says so.
        isPackedByHead = reader.flag("qkv_packed_by_head", default: true)
    }

    func build(_ head: DecoderHead, in builder: inout DecoderBuilder) throws {
        let inputs = try builder.inputs()
        var hidden = try builder.embedding(inputs.tokens, "embed_in", [decoder.vocabularySize, decoder.hiddenSize])
        for layer in 0..<decoder.layerCount {
            let name = "layers.\(layer)"
            let packed = try builder.linear(
                try builder.norm(hidden, "\(name).input_layernorm"), "\(name).attention.query_key_value", to: 3 * decoder.hiddenSize,
                hasBias: hasAttentionBias)
            let operands = isPackedByHead
                ? try builder.packedOperandsByHead(packed, "\(name).attention") : try builder.packedOperands(packed, "\(name).attention")
            let context = try builder.attention(operands, inputs, layer: layer, attention, "\(name).attention")
            let attended = try builder.linear(
                context, "\(name).attention.dense", to: decoder.hiddenSize, hasBias: hasAttentionBias, residual: hidden)
            let normed = try builder.norm(isParallel ? hidden : attended, "\(name).post_attention_layernorm")
            let inner = try builder.linear(normed, "\(name).mlp.dense_h_to_4h", to: decoder.intermediateSize, decoder.activation)
            hidden = try builder.linear(inner, "\(name).mlp.dense_4h_to_h", to: decoder.hiddenSize, residual: attended)
        }
        let normed = try builder.norm(hidden, "final_layer_norm", output: "last_hidden_state")
        // Published checkpoints call it embed_out.
        let matrix = builder.weights.has("embed_out.weight", .head) ? "embed_out" : "lm_head"
        try builder.outputs(head, normed, embedding: "embed_in", matrix: matrix)
    }
}
