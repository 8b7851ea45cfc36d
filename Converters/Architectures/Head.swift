/// What stands on top of a model.
public enum Head: String, Sendable, Hashable, Codable, CaseIterable {
    /// Nothing: `last_hidden_state [batch, sequence, hidden]`, and `pooler_output [batch, hidden]` where the checkpoint has a pooler.
    case encoder
    /// `logits [batch, labels]`.
    case sequenceClassification = "sequence-classification"
    /// `logits [batch, sequence, labels]`.
    case tokenClassification = "token-classification"
    /// `logits [batch, sequence, vocabulary]` for the token at each place.
    case maskedLanguageModel = "masked-lm"
    /// `logits [batch, sequence, vocabulary]` for the token after each place.
    case causalLanguageModel = "text-generation"
    /// `logits [batch, decoder_sequence, vocabulary]` for the token after each place of the decoder's input.
    case sequenceToSequence = "text2text-generation"

    /// How the class names of `architectures` in config.json end. A pretraining class carries the masked language model and a
    /// sentence-pair head that nothing uses later; of ELECTRA it is a discriminator instead, which is none of these heads.
    public static func named(byClass name: String, modelType: String) -> Head? {
        func ends(_ suffix: String) -> Bool { name.utf8.suffix(suffix.utf8.count).elementsEqual(suffix.utf8) }
        if ends("ForSequenceClassification") { return .sequenceClassification }
        if ends("ForTokenClassification") { return .tokenClassification }
        if ends("ForMaskedLM") { return .maskedLanguageModel }
        if ends("ForPreTraining") { return modelType == "electra" ? nil : .maskedLanguageModel }
        if ends("ForCausalLM") || ends("LMHeadModel") { return .causalLanguageModel }
        // Of a model that also sees images, the part that writes.
        if ends("ForConditionalGeneration") { return modelType == "gemma3" ? .causalLanguageModel : .sequenceToSequence }
        // An encoder and a decoder without a head: which of the two states is meant?
        if modelType == "t5" { return ends("EncoderModel") ? .encoder : nil }
        return ends("Model") ? .encoder : nil
    }
}

/// The heads that stand on an encoder.
enum EncoderHead: String, CaseIterable {
    case encoder
    case sequenceClassification = "sequence-classification"
    case tokenClassification = "token-classification"
    case maskedLanguageModel = "masked-lm"
}

/// The heads that stand on a decoder.
enum DecoderHead: String, CaseIterable {
    case languageModel = "text-generation"
    /// None: the states behind the last norm.
    case hiddenState = "encoder"
}

/// The heads that stand on an encoder with a decoder.
enum EncoderDecoderHead: String, CaseIterable {
    case sequenceToSequence = "text2text-generation"
    /// The encoder alone.
    case encoder
}
