extension GGUFArchitecture {
    private static let gemmaLayerModules: [Module] =
        llamaLayerModules.filter { $0.file != "ffn_norm" } + [
            ("post_attention_norm", "post_attention_layernorm"), ("ffn_norm", "pre_feedforward_layernorm"),
            ("post_ffw_norm", "post_feedforward_layernorm"),
        ]

    static let gemma2 = GGUFArchitecture(
        name: "gemma2", modelType: "gemma2", className: "Gemma2ForCausalLM",
        settings: Setting.common + [
            .optional("attention.sliding_window", "sliding_window"), .optional("attn_logit_softcapping", "attn_logit_softcapping", .number),
            .optional("final_logit_softcapping", "final_logit_softcapping", .number),
        ], modules: llamaModules, layers: "model.layers", layerModules: gemmaLayerModules
    ) { configuration in
        configuration.completeGemma(layersOfLargest: 46)
        configuration.readRotary()
    }

    /// The text model alone, as files of Gemma 3 have it.
    static let gemma3 = GGUFArchitecture(
        name: "gemma3", modelType: "gemma3_text", className: "Gemma3ForCausalLM",
        settings: Setting.common + [
            .optional("attention.sliding_window", "sliding_window"), .optional("attention.sliding_window_pattern", "sliding_window_pattern"),
            .optional("final_logit_softcapping", "final_logit_softcapping", .number), .optional("rope.freq_base_swa", "rope_local_base_freq", .number),
        ], modules: llamaModules, layers: "model.layers",
        layerModules: gemmaLayerModules + [("attn_q_norm", "self_attn.q_norm"), ("attn_k_norm", "self_attn.k_norm")]
    ) { configuration in
        configuration.completeGemma(layersOfLargest: 62)
        configuration.readRotary()
        // What the format takes for granted.
        if configuration.setting("rope_theta") == nil { configuration.set("rope_theta", .number(1_000_000)) }
        if configuration.setting("rope_local_base_freq") == nil { configuration.set("rope_local_base_freq", .number(10_000)) }
    }
}

extension GGUFConfiguration {
    /// - Parameter layersOfLargest: By its number of layers the model of 27B is known, the only one that divides scores by the root of the hidden
    ///   size per head and not of the head's size; no key says so.
    fileprivate mutating func completeGemma(layersOfLargest: Int) {
        // Files hold 1 + w.
        set("norm_unit_offset", false)
        guard let size = headSize() else { return }
        set("head_dim", .integer(size))
        var divisor = size
        if integer("block_count") == layersOfLargest, let hidden = integer("embedding_length"), let heads = integer("attention.head_count"), heads > 0 {
            divisor = hidden / heads
        }
        set("query_pre_attn_scalar", .integer(divisor))
    }
}
