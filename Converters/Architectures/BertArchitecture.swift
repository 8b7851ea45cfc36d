/// BERT (Devlin et al., 2019).
struct BertArchitecture: EncoderArchitecture {
    static let modelTypes = ["bert"]
    static let prefix = "bert."

    let encoder: EncoderConfiguration
    let typeCount: Int
    var maximumPositions: Int? { encoder.positionCount }

    init(reading reader: inout ConfigurationReader) {
        encoder = EncoderConfiguration(reading: &reader)
        typeCount = reader.tokenTypeCount()
    }

    func build(_ head: EncoderHead, labels: Int, in builder: inout EncoderBuilder) throws {
        let inputs = try builder.inputs(hasTokenTypes: true)
        let embedded = try builder.embeddings(inputs, width: encoder.hiddenSize, positions: .fromZero, typeCount: typeCount)
        let hidden = try builder.layers(embedded, mask: inputs.mask, LayerNames.bert)
        switch head {
        case .encoder: try builder.encoderOutputs(hidden, pooler: "pooler.dense")
        case .sequenceClassification: try builder.classifier(try builder.pooler(hidden, "pooler.dense"), labels: labels)
        case .tokenClassification: try builder.classifier(hidden, labels: labels)
        case .maskedLanguageModel:
            try builder.languageModel(
                hidden, dense: "cls.predictions.transform.dense", encoder.activation, norm: "cls.predictions.transform.LayerNorm",
                decoder: "cls.predictions.decoder", bias: "cls.predictions.bias", width: encoder.hiddenSize)
        }
    }
}

extension ConfigurationReader {
    mutating func tokenTypeCount() -> Int { size("type_vocab_size", in: 1...1 << 16, default: 2) }
}
