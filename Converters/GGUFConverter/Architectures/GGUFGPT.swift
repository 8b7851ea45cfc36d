extension GGUFArchitecture {
    /// GPT-2. Its matrices are `[out, in]` here, unlike in its checkpoints (`WeightSource.isOutputMajor`).
    static let gpt2 = GGUFArchitecture(
        name: "gpt2", modelType: "gpt2", className: "GPT2LMHeadModel",
        settings: [
            .required("context_length", "n_positions"), .required("embedding_length", "n_embd"), .required("block_count", "n_layer"),
            .optional("feed_forward_length", "n_inner"), .required("attention.head_count", "n_head"),
            .required("attention.layer_norm_epsilon", "layer_norm_epsilon", .number),
        ],
        modules: [("token_embd", "transformer.wte"), ("position_embd", "transformer.wpe"), ("output_norm", "transformer.ln_f"), ("output", "lm_head")],
        layers: "transformer.h",
        layerModules: [
            ("attn_norm", "ln_1"), ("attn_qkv", "attn.c_attn"), ("attn_output", "attn.c_proj"), ("ffn_norm", "ln_2"), ("ffn_up", "mlp.c_fc"),
            ("ffn_down", "mlp.c_proj"),
        ]
    ) { _ in }

    /// GPT-NeoX and Pythia. In the packed matrix all queries come first, then all keys, then all values.
    static let gptneox = GGUFArchitecture(
        name: "gptneox", modelType: "gpt_neox", className: "GPTNeoXForCausalLM",
        settings: [
            .required("context_length", "max_position_embeddings"), .required("embedding_length", "hidden_size"),
            .required("block_count", "num_hidden_layers"), .required("feed_forward_length", "intermediate_size"),
            .required("attention.head_count", "num_attention_heads"), .required("attention.layer_norm_epsilon", "layer_norm_eps", .number),
            .optional("use_parallel_residual", "use_parallel_residual", .flag), .optional("rope.freq_base", "rotary_emb_base", .number),
        ],
        modules: [("token_embd", "gpt_neox.embed_in"), ("output_norm", "gpt_neox.final_layer_norm"), ("output", "embed_out")],
        layers: "gpt_neox.layers",
        layerModules: [
            ("attn_norm", "input_layernorm"), ("attn_qkv", "attention.query_key_value"), ("attn_output", "attention.dense"),
            ("ffn_norm", "post_attention_layernorm"), ("ffn_up", "mlp.dense_h_to_4h"), ("ffn_down", "mlp.dense_4h_to_h"),
        ]
    ) { configuration in
        configuration.set("qkv_packed_by_head", false)
        configuration.readRotary(partialKey: "rotary_pct")
        configuration.set("attention_bias", .bool(configuration.hasTensor("blk.0.attn_qkv.bias")))
    }
}
