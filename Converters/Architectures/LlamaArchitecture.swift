/// Llama (Touvron et al., 2023) and all that took its form, such as SmolLM2 and TinyLlama.
struct LlamaArchitecture: LlamaKin {
    static let modelTypes = ["llama"]

    let decoder: DecoderConfiguration
    let form: LlamaForm

    init(reading reader: inout ConfigurationReader) {
        let decoder = DecoderConfiguration(reading: &reader)
        self.decoder = decoder
        let rotary = reader.rotary(headSize: decoder.headSize, positionCount: decoder.positionCount)
        let attention = AttentionForm(scale: decoder.standardScale, rotary: rotary)
        var form = LlamaForm(attention: Array(repeating: attention, count: decoder.layerCount))
        form.hasQueryBias = reader.flag("attention_bias", default: false)
        form.hasOutputBias = form.hasQueryBias
        form.hasFeedForwardBias = reader.flag("mlp_bias", default: false)
        self.form = form
    }
}
