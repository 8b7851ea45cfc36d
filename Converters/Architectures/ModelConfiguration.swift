/// What a caller of a converted checkpoint has to know: from config.json, whatever the architecture.
public struct ModelConfiguration: Sendable, Hashable {
    /// What the logits of a classifier mean.
    public enum ProblemType: String, Sendable, Hashable, Codable, CaseIterable {
        case regression
        case singleLabel = "single_label_classification"
        case multiLabel = "multi_label_classification"
    }

    /// `model_type`: `bert`, `roberta`, ...
    public let modelType: String
    /// The class names of `architectures`.
    public let architectures: [String]
    public let head: Head
    /// The names of a classifier's outputs in their order; empty for other heads.
    public let labels: [String]
    /// nil: not stated.
    public let problemType: ProblemType?
    public let hiddenSize: Int
    public let vocabularySize: Int
    /// The longest sequence, special tokens included: RoBERTa and its kin keep the first rows of their table for padding. nil: any
    /// length.
    public let maximumPositions: Int?

    /// Labels do not exclude each other: a sigmoid for each instead of a softmax over all.
    public var isMultiLabel: Bool { problemType == .multiLabel }
}

extension ConfigurationReader {
    /// More labels than any classifier has.
    private static let maximumLabels = 1 << 20

    /// The head that the first of the class names in `architectures` stands for, unless `override` says.
    ///
    /// - Parameter known: Those that the architecture has.
    mutating func head(_ override: Head?, architectures: [String], modelType: String, known: [Head]) -> Head {
        let heads = known.map(\.rawValue).joined(separator: ", ")
        let fallback = known.first ?? .encoder
        if let override {
            if known.contains(override) { return override }
            report(.unsupported, "model_type \(quoted(modelType)) has no head \(override.rawValue); there are \(heads)")
            return fallback
        }
        guard let name = architectures.first else { return fallback }
        if let head = Head.named(byClass: name, modelType: modelType), known.contains(head) { return head }
        report(.unsupported, "architectures names the class \(quoted(name)), which is none of the heads of \(modelType); choose one of \(heads)")
        return fallback
    }

    /// The labels by index: from `id2label`, else `LABEL_0` and so on for `num_labels` (2, where that is absent too).
    mutating func labels() -> [String] {
        guard let members = members("id2label") else {
            let count = size("num_labels", in: 1...Self.maximumLabels, default: 2)
            return (0..<count).map { "LABEL_\($0)" }
        }
        var labels = [String?](repeating: nil, count: members.count)
        for member in members {
            guard let index = Int(member.key), labels.indices.contains(index), labels[index] == nil,
                let label = member.value.stringValue
            else {
                let expected = "the numbers from 0 to \(members.count - 1), each with a string"
                report(.configuration, "id2label has the entry \(quoted(member.key)), expected \(expected)")
                return []
            }
            labels[index] = label
        }
        if labels.isEmpty { report(.configuration, "id2label is empty") }
        return labels.compactMap { $0 }
    }

    mutating func problemType() -> ModelConfiguration.ProblemType? {
        guard let text = string("problem_type") else { return nil }
        if let type = ModelConfiguration.ProblemType(rawValue: text) { return type }
        let known = ModelConfiguration.ProblemType.allCases.map(\.rawValue).joined(separator: ", ")
        report(.configuration, "problem_type is \(quoted(text)), known are \(known)")
        return nil
    }
}
