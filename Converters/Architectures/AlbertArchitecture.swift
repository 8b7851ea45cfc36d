/// ALBERT (Lan et al., 2020): BERT whose layers share their parameters in groups, with narrow embeddings.
struct AlbertArchitecture: EncoderArchitecture {
    static let modelTypes = ["albert"]
    static let prefix = "albert."

    let encoder: EncoderConfiguration
    let typeCount: Int
    let embeddingSize: Int
    let groupCount: Int
    var maximumPositions: Int? { encoder.positionCount }

    init(reading reader: inout ConfigurationReader) {
        encoder = EncoderConfiguration(reading: &reader, defaultActivation: .gelu_tanh)
        typeCount = reader.tokenTypeCount()
        embeddingSize = reader.size("embedding_size", in: 1...1 << 16, default: 128)
        groupCount = reader.size("num_hidden_groups", in: 1...1024, default: 1)
        if reader.size("inner_group_num", in: 1...1024, default: 1) != 1 {
            reader.report(.unsupported, "inner_group_num is above 1: several layers in a group are not supported")
        }
        if reader.hasSizes, groupCount > encoder.layerCount {
            reader.reportSizes("num_hidden_groups \(groupCount) is above num_hidden_layers \(encoder.layerCount)")
        }
    }

    func build(_ head: EncoderHead, labels: Int, in builder: inout EncoderBuilder) throws {
        let inputs = try builder.inputs(hasTokenTypes: true)
        let embedded = try builder.embeddings(inputs, width: embeddingSize, positions: .fromZero, typeCount: typeCount)
        let widened = try builder.linear(embedded, "encoder.embedding_hidden_mapping_in", to: encoder.hiddenSize)
        let hidden = try builder.layers(widened, mask: inputs.mask) { layer in
            let prefix = "encoder.albert_layer_groups.\(group(ofLayer: layer)).albert_layers.0"
            return LayerNames(
                query: "\(prefix).attention.query", key: "\(prefix).attention.key", value: "\(prefix).attention.value",
                attentionOutput: "\(prefix).attention.dense", attentionNorm: "\(prefix).attention.LayerNorm",
                intermediate: "\(prefix).ffn", output: "\(prefix).ffn_output", outputNorm: "\(prefix).full_layer_layer_norm")
        }
        switch head {
        case .encoder: try builder.encoderOutputs(hidden, pooler: "pooler")
        case .sequenceClassification: try builder.classifier(try builder.pooler(hidden, "pooler"), labels: labels)
        case .tokenClassification: try builder.classifier(hidden, labels: labels)
        case .maskedLanguageModel:
            try builder.languageModel(
                hidden, dense: "predictions.dense", encoder.activation, norm: "predictions.LayerNorm", decoder: "predictions.decoder",
                bias: "predictions.bias", width: embeddingSize)
        }
    }

    /// Which group a layer uses, by the reference implementation's division of floats.
    private func group(ofLayer layer: Int) -> Int {
        min(Int(Double(layer) / (Double(encoder.layerCount) / Double(groupCount))), groupCount - 1)
    }
}
