/// Phi-3 and Phi-4-mini (Abdin et al., 2024): Llama with packed matrices, rotation of a part of each head, and LongRoPE.
struct Phi3Architecture: LlamaKin {
    static let modelTypes = ["phi3"]

    let decoder: DecoderConfiguration
    let form: LlamaForm

    init(reading reader: inout ConfigurationReader) {
        var keys = DecoderConfiguration.Keys()
        keys.defaultNormEpsilon = 1e-5
        let decoder = DecoderConfiguration(reading: &reader, keys: keys)
        self.decoder = decoder
        reader.refuseFlags("attention_bias", "mlp_bias")
        let rotary = reader.rotary(
            headSize: decoder.headSize, positionCount: decoder.positionCount,
            RotaryDefaults(partialFactor: 1, longRopeAliases: ["su", "yarn"], originalPositions: 4096))
        let window = reader.sizeOrNone("sliding_window", in: 1...1 << 28, default: nil)
        let attention = AttentionForm(scale: decoder.standardScale, window: window ?? 0, rotary: rotary)
        form = LlamaForm(isPacked: true, attention: Array(repeating: attention, count: decoder.layerCount))
    }
}
