/// Gemma 2 (Gemma Team, 2024): Llama with norms on both sides of each part, bounded scores and logits, and windows on every other layer.
struct Gemma2Architecture: LlamaKin {
    static let modelTypes = ["gemma2"]

    let decoder: DecoderConfiguration
    let form: LlamaForm

    init(reading reader: inout ConfigurationReader) {
        let decoder = DecoderConfiguration(reading: &reader, keys: .gemma)
        self.decoder = decoder
        reader.refuseFlags("mlp_bias")
        let rotary = reader.rotary(headSize: decoder.headSize, positionCount: decoder.positionCount)
        let window = reader.sizeOrNone("sliding_window", in: 1...1 << 28, default: 4096)
        let windows = reader.windows(layers: decoder.layerCount, window: window) { $0 % 2 == 0 }
        let scale = reader.gemmaScale()
        let softcap = reader.softcap("attn_logit_softcapping", default: 50)
        let attention = windows.map { AttentionForm(scale: scale, window: $0, softcap: softcap, rotary: rotary) }
        form = reader.gemmaForm(decoder, attention, logitSoftcap: reader.softcap("final_logit_softcapping", default: 30))
    }
}

extension DecoderConfiguration.Keys {
    static var gemma: Self {
        var keys = Self()
        keys.keyValueHeadCount = .init("num_key_value_heads", default: 4)
        keys.headSize = .init("head_dim", default: 256)
        keys.activation = "hidden_activation"
        keys.defaultActivation = .gelu_tanh
        keys.defaultIsTied = true
        return keys
    }
}

extension ConfigurationReader {
    /// Scores are divided by the root of a number of its own instead of the head size.
    mutating func gemmaScale() -> Float { Float(1 / positive("query_pre_attn_scalar", default: 256).squareRoot()) }

    /// The bound of scores or logits; 0 where a null says that there is none.
    mutating func softcap(_ key: String, default fallback: Double?) -> Float {
        isNull(key) ? 0 : Float(positiveOrNone(key) ?? fallback ?? 0)
    }

    /// What both generations of Gemma have.
    mutating func gemmaForm(_ decoder: DecoderConfiguration, _ attention: [AttentionForm], logitSoftcap: Float) -> LlamaForm {
        let hasBias = flag("attention_bias", default: false)
        return LlamaForm(
            hasQueryBias: hasBias, hasOutputBias: hasBias, hasOutputNorms: true,
            // GGUF files have the 1 added already; their importer says so.
            hasUnitOffset: flag("norm_unit_offset", default: true), embeddingScale: Float(Double(decoder.hiddenSize).squareRoot()),
            logitSoftcap: logitSoftcap, attention: attention)
    }
}
