extension GGUFArchitecture {
    /// Qwen2 and Qwen2.5. Windows are never in use in these files.
    static let qwen2 = GGUFArchitecture(
        name: "qwen2", modelType: "qwen2", className: "Qwen2ForCausalLM", settings: Setting.common, modules: llamaModules, layers: "model.layers",
        layerModules: llamaLayerModules
    ) { configuration in
        if let size = configuration.headSize() { configuration.set("head_dim", .integer(size)) }
        configuration.readRotary()
    }

    static let qwen3 = GGUFArchitecture(
        name: "qwen3", modelType: "qwen3", className: "Qwen3ForCausalLM", settings: Setting.common, modules: llamaModules, layers: "model.layers",
        layerModules: llamaLayerModules + [("attn_q_norm", "self_attn.q_norm"), ("attn_k_norm", "self_attn.k_norm")]
    ) { configuration in
        if let size = configuration.headSize() { configuration.set("head_dim", .integer(size)) }
        configuration.readRotary()
        configuration.set("attention_bias", .bool(configuration.hasTensor("blk.0.attn_q.bias")))
    }
}
