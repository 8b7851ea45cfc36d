import GraphFile

/// What to generate.
public struct GenerationOptions: Sendable, Hashable {
    /// The most tokens; nil: as the model says, else 256. The context may end a text earlier.
    public var maximumTokens: Int?
    /// nil: as the model's makers recommend.
    public var sampling: SamplingOptions?
    /// The text ends before the first of these.
    public var stop: [String] = []
    /// How many alternatives to report for each token, the chosen one's probability with them; nil for no probabilities.
    public var logprobs: Int?
    /// Goes on behind the model's end token.
    public var ignoresEndTokens = false

    public init() {}
}

/// Why a generation ended.
public enum FinishReason: String, Sendable, Hashable {
    /// The model's end token, or a stop string.
    case stop
    /// As many tokens as were asked for.
    case length
    /// The context is full.
    case context
    case cancelled
}

/// A token with its log-probability under the model, before sampling options change the distribution.
public struct TokenLogprob: Sendable, Hashable {
    public let id: Int
    /// Natural logarithm; nil for the first token of a text, which nothing precedes.
    public let logprob: Float?
    /// The likeliest tokens at that place.
    public let top: [Alternative]

    public struct Alternative: Sendable, Hashable {
        public let id: Int
        public let logprob: Float
    }
}

/// A generated text.
public struct GeneratedText: Sendable, Hashable {
    /// Without the prompt; empty where the model has no tokenizer.
    public internal(set) var text = ""
    /// The generated tokens, without the end token.
    public internal(set) var ids: [Int] = []
    public internal(set) var finishReason = FinishReason.length
    /// For each of `ids`, where asked for.
    public internal(set) var logprobs: [TokenLogprob] = []
    public internal(set) var statistics = GenerationStatistics()
    /// The seed that was used; the same seed gives the same text.
    public internal(set) var seed: UInt64 = 0
}

public struct GenerationStatistics: Sendable, Hashable {
    /// Tokens of the prompt, those found in the cache included.
    public internal(set) var promptTokens = 0
    /// Tokens of the prompt that an earlier call had computed.
    public internal(set) var reusedTokens = 0
    /// Seconds until the logits behind the prompt were there.
    public internal(set) var promptSeconds = 0.0
    public internal(set) var generatedTokens = 0
    /// Seconds from the first token on.
    public internal(set) var generationSeconds = 0.0

    /// Prompt tokens computed per second.
    public var promptRate: Double { promptSeconds > 0 ? Double(promptTokens - reusedTokens) / promptSeconds : 0 }
    /// Tokens per second behind the first, which the prompt gave.
    public var generationRate: Double { generationSeconds > 0 ? Double(max(generatedTokens - 1, 0)) / generationSeconds : 0 }
}

/// What has become final with a token.
public struct GeneratedPiece: Sendable, Hashable {
    /// May be empty: incomplete characters and what may be a stop string are held back.
    public let text: String
    /// nil for the rest of the text at the end.
    public let id: Int?
    public let logprob: TokenLogprob?
}
