/// What is measured: one kind of work on one model at one precision.
public struct BenchmarkCase: Sendable, Hashable {
    public enum Kind: String, Sendable, Hashable, CaseIterable {
        /// Token ids of a batch of sentences to hidden states.
        case encode
        /// Lines of text to pooled vectors, tokenizer included.
        case embed
        /// Token ids of a prompt to the logits behind its last one.
        case prompt
        /// Greedy tokens behind a prompt with a key-value cache; the time of the prompt and the first token is not counted.
        case decode
        /// Lines of text to token ids.
        case tokenize
        /// From the start of a process to its first answer, files in the page cache.
        case start
    }

    /// Which contestants compare: at the same precision of the weights.
    public enum Precision: String, Sendable, Hashable, CaseIterable {
        case f32
        /// 8-bit weights, whatever each program's format of that size is.
        case int8
        /// 4-bit weights, likewise.
        case int4
    }

    /// A folder of the benchmark's models, see `make_models.py`.
    public let model: String
    /// The size of the work: `1x128`, `prompt512`.
    public let shape: String
    public let kind: Kind
    /// nil for tokenizers.
    public let precision: Precision?
    public let work: Work
    /// Part of the quick run.
    public let isQuick: Bool

    public enum Work: Sendable, Hashable {
        /// Token ids, a row a sentence.
        case rows([[Int]])
        /// Token ids of a prompt, and how many tokens to generate.
        case prompt([Int], newTokens: Int)
        /// The first lines of the benchmark's text.
        case lines(Int)
    }

    public init(_ model: String, _ shape: String, _ kind: Kind, _ precision: Precision?, _ work: Work, isQuick: Bool = false) {
        self.model = model
        self.shape = shape
        self.kind = kind
        self.precision = precision
        self.work = work
        self.isQuick = isQuick
    }

    /// `minilm-1x128-f32`.
    public var name: String { ([model, shape] + (precision.map { [$0.rawValue] } ?? [])).joined(separator: "-") }
}
