/// The text model of Gemma 3 (Gemma Team, 2025): Gemma 2 with norms on heads instead of bounded scores, five layers with windows to one without,
/// and a rotation of its own for each of the two kinds. Of a model that also sees images, the part that writes is taken.
struct Gemma3Architecture: LlamaKin {
    static let modelTypes = ["gemma3_text", "gemma3"]

    let decoder: DecoderConfiguration
    let form: LlamaForm

    init(reading reader: inout ConfigurationReader) {
        (decoder, form) = reader.nested("text_config") { Self.read(&$0) } ?? Self.read(&reader)
    }

    private static func read(_ reader: inout ConfigurationReader) -> (DecoderConfiguration, LlamaForm) {
        var keys = DecoderConfiguration.Keys.gemma
        // The text_config of published models holds what differs from these alone.
        keys.vocabularySize = .init("vocab_size", default: 262_208)
        keys.hiddenSize = .init("hidden_size", default: 2304)
        keys.intermediateSize = .init("intermediate_size", default: 9216)
        keys.layerCount = .init("num_hidden_layers", default: 26)
        keys.headCount = .init("num_attention_heads", default: 8)
        keys.positionCount = .init("max_position_embeddings", default: 131_072)
        let decoder = DecoderConfiguration(reading: &reader, keys: keys)
        reader.refuseFlags("mlp_bias")
        if reader.has("attn_logit_softcapping") {
            reader.report(.unsupported, "attn_logit_softcapping is set, which this architecture does not have")
        }
        let window = reader.sizeOrNone("sliding_window", in: 1...1 << 28, default: 4096)
        let pattern = reader.size("sliding_window_pattern", in: 1...1 << 16, default: 6)
        let windows = reader.windows(layers: decoder.layerCount, window: window) { ($0 + 1) % pattern != 0 }
        let global = reader.rotary(
            headSize: decoder.headSize, positionCount: decoder.positionCount, RotaryDefaults(theta: 1_000_000, layerType: "full_attention"))
        let local = reader.rotary(
            headSize: decoder.headSize, positionCount: decoder.positionCount,
            RotaryDefaults(thetaKey: "rope_local_base_freq", layerType: "sliding_attention", isScaled: false))
        let scale = reader.gemmaScale()
        let attention = windows.map { AttentionForm(scale: scale, window: $0, rotary: $0 > 0 ? local : global) }
        var form = reader.gemmaForm(decoder, attention, logitSoftcap: reader.softcap("final_logit_softcapping", default: nil))
        form.hasHeadNorms = true
        return (decoder, form)
    }
}
