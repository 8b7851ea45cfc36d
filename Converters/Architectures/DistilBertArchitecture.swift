/// DistilBERT (Sanh et al., 2019): BERT without token types and pooler.
struct DistilBertArchitecture: EncoderArchitecture {
    static let modelTypes = ["distilbert"]
    static let prefix = "distilbert."

    let encoder: EncoderConfiguration
    var maximumPositions: Int? { encoder.positionCount }

    init(reading reader: inout ConfigurationReader) {
        let keys = EncoderConfiguration.Keys(
            hiddenSize: "dim", layerCount: "n_layers", headCount: "n_heads", intermediateSize: "hidden_dim", activation: "activation",
            normEpsilon: nil)
        encoder = EncoderConfiguration(reading: &reader, keys: keys)
    }

    func build(_ head: EncoderHead, labels: Int, in builder: inout EncoderBuilder) throws {
        let inputs = try builder.inputs(hasTokenTypes: false)
        let embedded = try builder.embeddings(inputs, width: encoder.hiddenSize, positions: .fromZero)
        let hidden = try builder.layers(embedded, mask: inputs.mask) { layer in
            let prefix = "transformer.layer.\(layer)"
            return LayerNames(
                query: "\(prefix).attention.q_lin", key: "\(prefix).attention.k_lin", value: "\(prefix).attention.v_lin",
                attentionOutput: "\(prefix).attention.out_lin", attentionNorm: "\(prefix).sa_layer_norm",
                intermediate: "\(prefix).ffn.lin1", output: "\(prefix).ffn.lin2", outputNorm: "\(prefix).output_layer_norm")
        }
        switch head {
        case .encoder: try builder.encoderOutputs(hidden)
        case .sequenceClassification:
            try builder.denseClassifier(hidden, dense: "pre_classifier", .relu, projection: "classifier", labels: labels)
        case .tokenClassification: try builder.classifier(hidden, labels: labels)
        case .maskedLanguageModel:
            try builder.languageModel(
                hidden, dense: "vocab_transform", encoder.activation, norm: "vocab_layer_norm", decoder: "vocab_projector",
                bias: "vocab_projector.bias", width: encoder.hiddenSize)
        }
    }
}
