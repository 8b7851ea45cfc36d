extension GGUFArchitecture {
    /// Phi-3 and Phi-4-mini: packed matrices, as in their checkpoints.
    static let phi3 = GGUFArchitecture(
        name: "phi3", modelType: "phi3", className: "Phi3ForCausalLM", settings: Setting.common, modules: llamaModules, layers: "model.layers",
        layerModules: [
            ("attn_norm", "input_layernorm"), ("attn_qkv", "self_attn.qkv_proj"), ("attn_output", "self_attn.o_proj"),
            ("ffn_norm", "post_attention_layernorm"), ("ffn_up", "mlp.gate_up_proj"), ("ffn_down", "mlp.down_proj"),
        ]
    ) { configuration in
        configuration.readRotary(partialKey: "partial_rotary_factor")
        if let original = configuration.integer("rope.scaling.original_context_length") {
            configuration.set("original_max_position_embeddings", .integer(original))
        }
        if let window = configuration.integer("attention.sliding_window"), window > 0 { configuration.set("sliding_window", .integer(window)) }
    }
}
