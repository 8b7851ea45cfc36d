import GraphIR
import Operators

/// Where the decoders differ that descend from Llama: root mean square norms before attention and feed-forward network, rotary positions, heads
/// of keys and values that are shared, and a gated feed-forward network (Touvron et al., 2023).
struct LlamaForm: Sendable {
    var hasQueryBias = false
    var hasOutputBias = false
    var hasFeedForwardBias = false
    /// One matrix for queries, keys and values, and one for both halves of the feed-forward network.
    var isPacked = false
    /// A norm on every head of queries and keys, before the rotation.
    var hasHeadNorms = false
    /// Norms behind attention and feed-forward network too, before the sum.
    var hasOutputNorms = false
    /// Norm tensors hold what the scale differs from 1 by.
    var hasUnitOffset = false
    /// What word embeddings are multiplied by.
    var embeddingScale: Float = 1
    /// The bound of the logits; 0 for none.
    var logitSoftcap: Float = 0
    /// One for each layer.
    var attention: [AttentionForm]
}

/// A decoder that descends from Llama: its configuration says all.
protocol LlamaKin: DecoderArchitecture {
    var form: LlamaForm { get }
}

extension LlamaKin {
    static var prefix: String { "model." }
    static var anchor: String { "embed_tokens.weight" }

    var maximumPositions: Int? { form.attention.compactMap { $0.rotary?.limit }.reduce(decoder.positionCount, min) }

    func build(_ head: DecoderHead, in builder: inout DecoderBuilder) throws {
        let inputs = try builder.inputs()
        var hidden = try builder.embedding(inputs.tokens, "embed_tokens", [decoder.vocabularySize, decoder.hiddenSize])
        if form.embeddingScale != 1 {
            let scale = try builder.graph.scalar(Double(form.embeddingScale), .f32)
            hidden = try builder.graph.apply(Binary(.mul), hidden, scale, name: "embed_tokens")
        }
        for (layer, attention) in form.attention.enumerated() {
            hidden = try builder.llamaLayer(hidden, inputs, layer, attention, form)
        }
        let normed = try builder.rmsNorm(hidden, "norm", hasUnitOffset: form.hasUnitOffset, output: "last_hidden_state")
        try builder.outputs(head, normed, embedding: "embed_tokens", softcap: form.logitSoftcap)
    }
}

extension DecoderBuilder {
    fileprivate mutating func llamaLayer(
        _ x: ValueID, _ inputs: DecoderInputs, _ layer: Int, _ attentionForm: AttentionForm, _ form: LlamaForm
    ) throws -> ValueID {
        let name = "layers.\(layer)"
        func residual(_ x: ValueID) -> ValueID? { form.hasOutputNorms ? nil : x }
        let normed = try rmsNorm(x, "\(name).input_layernorm", hasUnitOffset: form.hasUnitOffset)
        let context = try attention(
            try llamaOperands(normed, "\(name).self_attn", form), inputs, layer: layer, attentionForm, "\(name).self_attn")
        var attended = try linear(
            context, "\(name).self_attn.o_proj", to: configuration.hiddenSize, hasBias: form.hasOutputBias, residual: residual(x))
        if form.hasOutputNorms { attended = try addNormed(attended, "\(name).post_attention_layernorm", to: x, form) }

        let inner = form.hasOutputNorms ? "pre_feedforward_layernorm" : "post_attention_layernorm"
        let gated = try gatedLayer(try rmsNorm(attended, "\(name).\(inner)", hasUnitOffset: form.hasUnitOffset), "\(name).mlp", form)
        let outer = try linear(
            gated, "\(name).mlp.down_proj", to: configuration.hiddenSize, hasBias: form.hasFeedForwardBias, residual: residual(attended))
        return form.hasOutputNorms ? try addNormed(outer, "\(name).post_feedforward_layernorm", to: attended, form) : outer
    }

    private mutating func llamaOperands(_ x: ValueID, _ name: String, _ form: LlamaForm) throws -> AttentionOperands {
        if form.isPacked {
            let heads = configuration.headCount + 2 * configuration.keyValueHeadCount
            let packed = try linear(x, "\(name).qkv_proj", to: heads * configuration.headSize, hasBias: form.hasQueryBias)
            return try packedOperands(packed, "\(name).qkv_proj")
        }
        var operands = try separateOperands(x, "\(name).q_proj", "\(name).k_proj", "\(name).v_proj", hasBias: form.hasQueryBias)
        if form.hasHeadNorms {
            operands.query = try rmsNorm(operands.query, "\(name).q_norm", hasUnitOffset: form.hasUnitOffset)
            operands.key = try rmsNorm(operands.key, "\(name).k_norm", hasUnitOffset: form.hasUnitOffset)
        }
        return operands
    }

    /// `activation(x W_gate) * (x W_up)` (Shazeer, 2020, "GLU Variants Improve Transformer").
    private mutating func gatedLayer(_ x: ValueID, _ name: String, _ form: LlamaForm) throws -> ValueID {
        let width = configuration.intermediateSize
        if form.isPacked {
            let packed = try linear(x, "\(name).gate_up_proj", to: 2 * width, hasBias: form.hasFeedForwardBias)
            return try graph.apply(GatedActivation(configuration.activation), packed, name: name)
        }
        let gate = try linear(x, "\(name).gate_proj", to: width, configuration.activation, hasBias: form.hasFeedForwardBias)
        let up = try linear(x, "\(name).up_proj", to: width, hasBias: form.hasFeedForwardBias)
        return try graph.apply(Binary(.mul), gate, up, name: name)
    }

    private mutating func addNormed(_ x: ValueID, _ name: String, to residual: ValueID, _ form: LlamaForm) throws -> ValueID {
        try graph.apply(Binary(.add), residual, try rmsNorm(x, name, hasUnitOffset: form.hasUnitOffset), name: name)
    }
}
