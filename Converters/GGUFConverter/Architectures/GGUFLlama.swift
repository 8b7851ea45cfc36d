extension GGUFArchitecture {
    static let llamaModules: [Module] = [("token_embd", "model.embed_tokens"), ("output_norm", "model.norm"), ("output", "lm_head")]

    /// The layers of Llama and what descends from it.
    static let llamaLayerModules: [Module] = [
        ("attn_norm", "input_layernorm"), ("attn_q", "self_attn.q_proj"), ("attn_k", "self_attn.k_proj"), ("attn_v", "self_attn.v_proj"),
        ("attn_output", "self_attn.o_proj"), ("ffn_norm", "post_attention_layernorm"), ("ffn_gate", "mlp.gate_proj"), ("ffn_up", "mlp.up_proj"),
        ("ffn_down", "mlp.down_proj"),
    ]

    /// Llama, Mistral and SmolLM2. The rows of queries and keys are in an order in which the pairs that turn stand side by side.
    static let llama = GGUFArchitecture(
        name: "llama", modelType: "llama", className: "LlamaForCausalLM", settings: Setting.common, modules: llamaModules, layers: "model.layers",
        layerModules: llamaLayerModules
    ) { configuration in
        configuration.set("rope_interleaved", true)
        if let size = configuration.headSize() { configuration.set("head_dim", .integer(size)) }
        configuration.readRotary()
        configuration.set("attention_bias", .bool(configuration.hasTensor("blk.0.attn_q.bias")))
        configuration.set("mlp_bias", .bool(configuration.hasTensor("blk.0.ffn_gate.bias")))
        if let window = configuration.integer("attention.sliding_window"), window > 0 {
            configuration.set("model_type", "mistral")
            configuration.set("architectures", ["MistralForCausalLM"])
            configuration.set("sliding_window", .integer(window))
        }
    }
}
