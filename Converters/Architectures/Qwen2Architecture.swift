/// Qwen2 and Qwen2.5 (Yang et al., 2024): Llama with biases on queries, keys and values, and windows for the upper layers if asked for.
struct Qwen2Architecture: LlamaKin {
    static let modelTypes = ["qwen2"]

    let decoder: DecoderConfiguration
    let form: LlamaForm

    init(reading reader: inout ConfigurationReader) {
        var keys = DecoderConfiguration.Keys()
        keys.keyValueHeadCount = .init("num_key_value_heads", default: 32)
        let decoder = DecoderConfiguration(reading: &reader, keys: keys)
        self.decoder = decoder
        reader.refuseFlags("mlp_bias")
        let rotary = reader.rotary(headSize: decoder.headSize, positionCount: decoder.positionCount)
        form = LlamaForm(
            hasQueryBias: true,
            attention: reader.qwenWindows(decoder).map { AttentionForm(scale: decoder.standardScale, window: $0, rotary: rotary) })
    }
}

extension ConfigurationReader {
    /// Windows of the layers from `max_window_layers` on, where `use_sliding_window` is true.
    mutating func qwenWindows(_ decoder: DecoderConfiguration) -> [Int] {
        let window =
            flag("use_sliding_window", default: false) ? sizeOrNone("sliding_window", in: 1...1 << 28, default: 4096) : nil
        let first = size("max_window_layers", in: 0...1 << 16, default: 28)
        return windows(layers: decoder.layerCount, window: window) { window != nil && $0 >= first }
    }
}
