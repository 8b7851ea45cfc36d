/// ELECTRA (Clark et al., 2020): BERT with embeddings of their own width and no pooler.
struct ElectraArchitecture: EncoderArchitecture {
    static let modelTypes = ["electra"]
    static let prefix = "electra."

    let encoder: EncoderConfiguration
    let typeCount: Int
    let embeddingSize: Int
    var maximumPositions: Int? { encoder.positionCount }

    init(reading reader: inout ConfigurationReader) {
        encoder = EncoderConfiguration(reading: &reader)
        typeCount = reader.tokenTypeCount()
        embeddingSize = reader.size("embedding_size", in: 1...1 << 16, default: 128)
    }

    func build(_ head: EncoderHead, labels: Int, in builder: inout EncoderBuilder) throws {
        let inputs = try builder.inputs(hasTokenTypes: true)
        var embedded = try builder.embeddings(inputs, width: embeddingSize, positions: .fromZero, typeCount: typeCount)
        if embeddingSize != encoder.hiddenSize {
            embedded = try builder.linear(embedded, "embeddings_project", to: encoder.hiddenSize)
        }
        let hidden = try builder.layers(embedded, mask: inputs.mask, LayerNames.bert)
        switch head {
        case .encoder: try builder.encoderOutputs(hidden)
        case .sequenceClassification:
            try builder.denseClassifier(hidden, dense: "classifier.dense", .gelu, projection: "classifier.out_proj", labels: labels)
        case .tokenClassification: try builder.classifier(hidden, labels: labels)
        case .maskedLanguageModel:
            try builder.languageModel(
                hidden, dense: "generator_predictions.dense", .gelu, norm: "generator_predictions.LayerNorm", decoder: "generator_lm_head",
                bias: "generator_lm_head.bias", width: embeddingSize)
        }
    }
}
