/// One label and how sure the model is of it.
public struct LabelScore: Sendable, Hashable {
    public let label: String
    /// A probability from 0 to 1; of a regression model the number itself.
    public let score: Float
}

/// The answer of a classifier to one text.
public struct Classification: Sendable, Hashable {
    /// All labels, most likely first.
    public let scores: [LabelScore]
    /// How many tokens of the input did not fit the model.
    public let truncatedTokenCount: Int

    /// The most likely label.
    public var label: String { scores.first?.label ?? "" }
    /// Its probability.
    public var confidence: Float { scores.first?.score ?? 0 }
}
