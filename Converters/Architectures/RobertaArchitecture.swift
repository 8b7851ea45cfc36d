import GraphIR

/// RoBERTa (Liu et al., 2019), and XLM-RoBERTa and CamemBERT, which differ from it in their training alone.
struct RobertaArchitecture: EncoderArchitecture {
    static let modelTypes = ["roberta", "xlm-roberta", "camembert"]
    static let prefix = "roberta."

    let encoder: EncoderConfiguration
    let typeCount: Int
    /// The token id of padding, and the row of the position table before the first position.
    let padding: Int
    var maximumPositions: Int? { encoder.positionCount - padding - 1 }

    init(reading reader: inout ConfigurationReader) {
        encoder = EncoderConfiguration(reading: &reader)
        typeCount = reader.tokenTypeCount()
        padding = reader.size("pad_token_id", in: 0...1 << 22, default: 1)
        reader.checkPositions(encoder.positionCount, padding: padding)
    }

    func build(_ head: EncoderHead, labels: Int, in builder: inout EncoderBuilder) throws {
        let inputs = try builder.inputs(hasTokenTypes: true)
        let embedded = try builder.embeddings(inputs, width: encoder.hiddenSize, positions: .afterPadding(padding), typeCount: typeCount)
        let hidden = try builder.layers(embedded, mask: inputs.mask, LayerNames.bert)
        try builder.robertaHead(head, hidden, labels: labels)
    }
}

extension ConfigurationReader {
    /// Positions are counted from `padding + 1`, so the table must go beyond.
    mutating func checkPositions(_ count: Int, padding: Int) {
        guard hasSizes, count <= padding + 1 else { return }
        reportSizes("max_position_embeddings is \(count), which leaves no position after the padding's \(padding)")
    }
}

extension EncoderBuilder {
    /// The heads of RoBERTa and MPNet.
    mutating func robertaHead(_ head: EncoderHead, _ hidden: ValueID, labels: Int) throws {
        switch head {
        case .encoder: try encoderOutputs(hidden, pooler: "pooler.dense")
        case .sequenceClassification:
            try denseClassifier(hidden, dense: "classifier.dense", .tanh, projection: "classifier.out_proj", labels: labels)
        case .tokenClassification: try classifier(hidden, labels: labels)
        case .maskedLanguageModel:
            try languageModel(
                hidden, dense: "lm_head.dense", .gelu, norm: "lm_head.layer_norm", decoder: "lm_head.decoder",
                bias: "lm_head.bias", width: configuration.hiddenSize)
        }
    }
}
