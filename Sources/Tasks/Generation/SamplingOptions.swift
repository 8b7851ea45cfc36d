import GraphFile

/// How the next token is chosen from the model's distribution.
public struct SamplingOptions: Sendable, Hashable {
    /// Takes the most likely token; the other members but the penalty have no effect then.
    public var isGreedy: Bool
    /// Divides the logits: below 1 prefers likely tokens, above 1 evens the chances. 0 is greedy.
    public var temperature: Float = 1
    /// Only that many of the likeliest tokens; 0 for all.
    public var topK = 0
    /// Only the likeliest tokens that together reach this probability (Holtzman et al., 2020); 1 for all.
    public var topP: Float = 1
    /// Only tokens at least that likely in proportion to the likeliest (Nguyen et al., 2024); 0 for all.
    public var minP: Float = 0
    /// Divides positive logits of tokens that occurred, multiplies negative ones (Keskar et al., 2019); 1 for none.
    public var repetitionPenalty: Float = 1
    /// Equal seeds give equal texts; nil draws a seed.
    public var seed: UInt64?

    public static let greedy = SamplingOptions(isGreedy: true)

    public init(isGreedy: Bool = false) { self.isGreedy = isGreedy }

    /// What the model's makers recommend.
    public init(_ settings: GenerationSettings) {
        isGreedy = !settings.isSampled
        temperature = settings.temperature ?? 1
        topK = settings.topK ?? (settings.isSampled ? 50 : 0)
        topP = settings.topP ?? 1
        minP = settings.minP ?? 0
        repetitionPenalty = settings.repetitionPenalty ?? 1
    }

    /// - Throws: `TaskError` naming the member that is out of range.
    func checked() throws -> SamplingOptions {
        func require(_ condition: Bool, _ what: String) throws {
            guard condition else { throw TaskError(.invalidInput, what) }
        }
        try require(temperature >= 0 && temperature.isFinite, "the temperature is \(temperature), it must be a number of at least 0")
        try require(topK >= 0, "top-k is \(topK), it must be at least 0")
        try require(topP > 0 && topP <= 1, "top-p is \(topP), it must be above 0 and at most 1")
        try require(minP >= 0 && minP <= 1, "min-p is \(minP), it must be from 0 to 1")
        try require(repetitionPenalty > 0 && repetitionPenalty.isFinite, "the repetition penalty is \(repetitionPenalty), it must be above 0")
        var result = self
        if temperature == 0 { result.isGreedy = true }
        return result
    }
}
