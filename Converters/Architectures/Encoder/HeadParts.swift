import GraphIR
import Operators

/// The parts of the heads that stand on an encoder. Dropout, which does nothing outside training, is left out.
extension EncoderBuilder {
    /// The state of the first token, `[batch, width]`, of `[batch, sequence, width]`.
    private mutating func firstToken(_ hidden: ValueID) throws -> ValueID {
        try graph.apply(Gather(axis: 1), hidden, try graph.scalar(0, .i64), name: "first_token")
    }

    /// `tanh(W h_0 + b)` of the first token, `[batch, hidden]`.
    mutating func pooler(_ hidden: ValueID, _ name: String) throws -> ValueID {
        try linear(try firstToken(hidden), name, to: configuration.hiddenSize, .tanh)
    }

    /// Outputs `last_hidden_state`, and `pooler_output` where the checkpoint has the pooler of that name.
    mutating func encoderOutputs(_ hidden: ValueID, pooler name: String? = nil) throws {
        graph.output("last_hidden_state", hidden)
        guard let name, weights.has("\(name).weight", .base) || weights.has("\(name).bias", .base) else { return }
        graph.output("pooler_output", try pooler(hidden, name))
    }

    /// Outputs `logits`: one linear layer on token states or on a pooled state.
    mutating func classifier(_ x: ValueID, _ name: String = "classifier", labels: Int) throws {
        graph.output("logits", try linear(x, name, to: labels, .none, .head))
    }

    /// Outputs `logits`: two layers on the first token, which RoBERTa and its kin have instead of a pooler.
    mutating func denseClassifier(_ hidden: ValueID, dense: String, _ activation: Activation, projection: String, labels: Int) throws {
        let state = try linear(try firstToken(hidden), dense, to: configuration.hiddenSize, activation, .head)
        try classifier(state, projection, labels: labels)
    }

    /// Outputs `logits` over the vocabulary: a dense layer, a norm and the word embedding transposed.
    ///
    /// - Parameter bias: The output bias where the checkpoint does not have it as the decoder's own.
    mutating func languageModel(
        _ hidden: ValueID, dense: String, _ activation: Activation, norm normName: String, decoder: String, bias: String, width: Int
    ) throws {
        let state = try norm(try linear(hidden, dense, to: width, activation, .head), normName, .head)
        let matrix = try weights.tiedMatrix(
            "\(decoder).weight", to: "embeddings.word_embeddings.weight", isTied: configuration.isDecoderTied,
            [configuration.vocabularySize, width], in: &graph)
        let ownBias = "\(decoder).bias"
        let offset = try weight(weights.has(ownBias, .head) ? ownBias : bias, [configuration.vocabularySize], .head)
        weights.ignore(bias, .head)
        graph.output("logits", try graph.apply(Linear(layout: .output_input), state, matrix, offset, name: decoder))
    }
}
