/// What stands on top of an encoder.
public enum Head: String, Sendable, Hashable, Codable, CaseIterable {
    /// Nothing: `last_hidden_state [batch, sequence, hidden]`, and `pooler_output [batch, hidden]` where the checkpoint has a pooler.
    case encoder
    /// `logits [batch, labels]`.
    case sequenceClassification = "sequence-classification"
    /// `logits [batch, sequence, labels]`.
    case tokenClassification = "token-classification"
    /// `logits [batch, sequence, vocabulary]`.
    case maskedLanguageModel = "masked-lm"

    /// How the class names of `architectures` in config.json end. A pretraining class carries the masked language model and a
    /// sentence-pair head that nothing uses later; of ELECTRA it is a discriminator instead, which is none of these heads.
    static func named(byClass name: String, modelType: String) -> Head? {
        func ends(_ suffix: String) -> Bool { name.utf8.suffix(suffix.utf8.count).elementsEqual(suffix.utf8) }
        if ends("ForSequenceClassification") { return .sequenceClassification }
        if ends("ForTokenClassification") { return .tokenClassification }
        if ends("ForMaskedLM") { return .maskedLanguageModel }
        if ends("ForPreTraining") { return modelType == "electra" ? nil : .maskedLanguageModel }
        return ends("Model") && !ends("LMHeadModel") ? .encoder : nil
    }
}
