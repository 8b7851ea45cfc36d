import Foundation
import GraphFile
import Tokenizers

/// Sorts texts into the labels that a model was trained on.
///
///     let classifier = try TextClassifier(contentsOf: url)
///     let answer = try classifier.classify("I love this")
///     print(answer.label, answer.confidence)
///
/// A classifier can be used from several tasks at once.
public final class TextClassifier: Sendable {
    public let model: TextModel
    /// In the order of the model's outputs.
    public let labels: [String]
    private let output: String

    /// Loads a classification model.
    ///
    /// - Throws: errors of `TextModel`, and `TaskError` where the model is no classifier.
    public convenience init(contentsOf url: URL, options: ModelOptions = ModelOptions()) throws {
        try self.init(model: TextModel(contentsOf: url, options: options), name: url.lastPathComponent)
    }

    public init(model: TextModel, name: String = "the model") throws {
        guard model.description.task == .classification else {
            throw TaskError(.unsuitableModel, "\(name) is made for \(model.description.task.rawValue), not classification")
        }
        guard let output = model.description.output, let type = model.executor.outputs.first(where: { $0.name == output })?.type else {
            throw TaskError(.unsuitableModel, "\(name) does not say which output holds the scores")
        }
        guard type.rank == 2 else {
            throw TaskError(.unsuitableModel, "output '\(output)' of \(name) is \(type), expected [batch, labels]")
        }
        let count = type.dims[1].fixedValue
        let given = model.description.labels
        if let count, !given.isEmpty, given.count != count {
            throw TaskError(.unsuitableModel, "\(name) has \(given.count) labels for \(count) outputs; convert it again with --labels")
        }
        guard let total = count ?? (given.isEmpty ? nil : given.count), total > 0 else {
            throw TaskError(.unsuitableModel, "\(name) does not say how many labels it has; convert it again with --labels")
        }
        labels = given.isEmpty ? (0..<total).map { "LABEL_\($0)" } : given
        self.model = model
        self.output = output
    }

    /// The labels of one text, or of a pair of texts where the model was trained on pairs.
    ///
    /// - Throws: errors of the tokenizer and the runtime.
    public func classify(_ text: String, pair: String? = nil) throws -> Classification {
        let answers = try classify([(text, pair)], isCancelled: { false })
        guard let answer = answers.first else { throw TaskError(.invalidInput, "there is no text to classify") }
        return answer
    }

    /// The labels of many texts, in their order. Texts of similar length run together; the answers are those of one by one.
    public func classify(_ texts: [String]) throws -> [Classification] {
        try classify(texts.map { ($0, nil) }, isCancelled: { false })
    }

    /// The labels of many pairs of texts.
    public func classify(pairs: [(String, String)]) throws -> [Classification] {
        try classify(pairs.map { ($0.0, $0.1) }, isCancelled: { false })
    }

    /// The same without blocking; cancellation takes effect between batches.
    public func classify(_ texts: [String]) async throws -> [Classification] {
        try await asynchronously { isCancelled in try self.classify(texts.map { ($0, nil) }, isCancelled: isCancelled) }
    }

    private func classify(_ texts: [(String, String?)], isCancelled: () -> Bool) throws -> [Classification] {
        let encodings = try texts.map { try model.encode($0.0, pair: $0.1) }
        var answers = [Classification?](repeating: nil, count: texts.count)
        try model.run(encodings, output: output, isCancelled: isCancelled) { index, _, row in
            guard row.count == labels.count else {
                throw TaskError(.unsuitableModel, "the model gave \(row.count) scores for \(labels.count) labels; convert it again with --labels")
            }
            answers[index] = Classification(
                scores: rank(probabilities(row)), truncatedTokenCount: encodings[index].truncatedTokenCount)
        }
        return answers.compactMap { $0 }
    }

    private func probabilities(_ logits: UnsafeBufferPointer<Float>) -> [Float] {
        if model.description.isRegression { return Array(logits) }
        if model.description.isMultiLabel { return logits.map { Float(1 / (1 + exp(-Double($0)))) } }
        let largest = logits.max() ?? 0
        let weights = logits.map { exp(Double($0 - largest)) }
        let total = weights.reduce(0, +)
        return weights.map { Float($0 / total) }
    }

    /// Most likely first; equal scores and NaN keep the order of the outputs.
    private func rank(_ scores: [Float]) -> [LabelScore] {
        scores.indices
            .sorted { scores[$0] == scores[$1] || scores[$0].isNaN || scores[$1].isNaN ? $0 < $1 : scores[$0] > scores[$1] }
            .map { LabelScore(label: labels[$0], score: scores[$0]) }
    }
}
