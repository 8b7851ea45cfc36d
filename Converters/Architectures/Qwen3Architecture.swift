/// Qwen3 (Yang et al., 2025): Qwen2 with norms on the heads of queries and keys in place of biases.
struct Qwen3Architecture: LlamaKin {
    static let modelTypes = ["qwen3"]

    let decoder: DecoderConfiguration
    let form: LlamaForm

    init(reading reader: inout ConfigurationReader) {
        var keys = DecoderConfiguration.Keys()
        keys.keyValueHeadCount = .init("num_key_value_heads", default: 32)
        keys.headSize = .init("head_dim", default: 128)
        let decoder = DecoderConfiguration(reading: &reader, keys: keys)
        self.decoder = decoder
        reader.refuseFlags("mlp_bias")
        let rotary = reader.rotary(headSize: decoder.headSize, positionCount: decoder.positionCount)
        let hasBias = reader.flag("attention_bias", default: false)
        form = LlamaForm(
            hasQueryBias: hasBias, hasOutputBias: hasBias, hasHeadNorms: true,
            attention: reader.qwenWindows(decoder).map { AttentionForm(scale: decoder.standardScale, window: $0, rotary: rotary) })
    }
}
