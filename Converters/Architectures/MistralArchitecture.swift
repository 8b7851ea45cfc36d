/// Mistral 7B (Jiang et al., 2023): Llama with attention to a sliding window, which later versions do without.
struct MistralArchitecture: LlamaKin {
    static let modelTypes = ["mistral"]

    let decoder: DecoderConfiguration
    let form: LlamaForm

    init(reading reader: inout ConfigurationReader) {
        var keys = DecoderConfiguration.Keys()
        keys.keyValueHeadCount = .init("num_key_value_heads", default: 8)
        let decoder = DecoderConfiguration(reading: &reader, keys: keys)
        self.decoder = decoder
        reader.refuseFlags("attention_bias", "mlp_bias")
        let window = reader.sizeOrNone("sliding_window", in: 1...1 << 28, default: 4096)
        let windows = reader.windows(layers: decoder.layerCount, window: window) { _ in window != nil }
        // The reference implementation lets all layers slide, or none.
        if Set(windows).count > 1 { reader.report(.unsupported, "layer_types differ from layer to layer, which this architecture does not have") }
        let rotary = reader.rotary(headSize: decoder.headSize, positionCount: decoder.positionCount)
        form = LlamaForm(attention: windows.map { AttentionForm(scale: decoder.standardScale, window: $0, rotary: rotary) })
    }
}
