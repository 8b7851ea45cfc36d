import Foundation
import GraphFile
import Tokenizers

/// Continues texts with a causal language model.
///
///     let generator = try TextGenerator(contentsOf: url)
///     for try await piece in generator.stream("Once upon a time") { print(piece.text, terminator: "") }
///
/// A generator can be used from several tasks at once: the weights are shared, every call has its own key-value cache. To let calls reuse
/// what they have in common, keep a `TokenSequence` of `model`, or a `ChatSession`.
public final class TextGenerator: Sendable {
    public let model: LanguageModel

    /// Loads a generation model.
    ///
    /// - Parameter contextLength: Positions, prompt included; nil: as the model says, up to 8192.
    /// - Throws: errors of `LanguageModel`.
    public convenience init(contentsOf url: URL, threads: Int? = nil, contextLength: Int? = nil) throws {
        self.init(model: try LanguageModel(contentsOf: url, threads: threads, contextLength: contextLength))
    }

    public init(model: LanguageModel) { self.model = model }

    /// The tokens of a prompt, with those that the tokenizer puts before a text.
    ///
    /// - Throws: `TaskError` where the model holds no tokenizer.
    public func encode(_ prompt: String, addSpecialTokens: Bool = true) throws -> [Int] {
        guard let tokenizer = model.tokenizer else {
            throw TaskError(.unsuitableModel, "the model holds no tokenizer; give token ids, or convert it again with --tokenizer PATH")
        }
        let ids = try tokenizer.encode(prompt, addSpecialTokens: addSpecialTokens).ids.map { Int($0) }
        if ids.isEmpty, let begin = model.settings.beginToken { return [begin] }
        return ids
    }

    /// Generates behind a prompt.
    public func generate(_ prompt: String, options: GenerationOptions = GenerationOptions()) throws -> GeneratedText {
        try generate(ids: encode(prompt), options: options)
    }

    /// Generates behind token ids.
    public func generate(
        ids: [Int], options: GenerationOptions = GenerationOptions(), body: (GeneratedPiece) throws -> Void = { _ in }
    ) throws -> GeneratedText {
        try model.makeSequence().generate(ids, options: options, body: body)
    }

    /// The same without blocking; cancellation takes effect within one token.
    public func generate(_ prompt: String, options: GenerationOptions = GenerationOptions()) async throws -> GeneratedText {
        try await asynchronously { isCancelled in
            try self.model.makeSequence().generate(self.encode(prompt), options: options, isCancelled: isCancelled)
        }
    }

    /// Generates behind several prompts in one batch; the texts are those of one by one.
    public func generate(_ prompts: [String], options: GenerationOptions = GenerationOptions()) throws -> [GeneratedText] {
        try generate(ids: prompts.map { try encode($0) }, options: options)
    }

    /// Generates behind several token sequences in one batch.
    public func generate(ids prompts: [[Int]], options: GenerationOptions = GenerationOptions()) throws -> [GeneratedText] {
        guard !prompts.isEmpty else { return [] }
        return try model.makeSequence(batch: prompts.count).generate(prompts, options: options, isCancelled: { false })
    }

    /// The pieces of the text as they become final. Ending the iteration, or cancelling its task, stops the work within one token.
    public func stream(_ prompt: String, options: GenerationOptions = GenerationOptions()) -> AsyncThrowingStream<GeneratedPiece, any Error> {
        AsyncThrowingStream { continuation in
            let work = Task {
                do {
                    try await asynchronously { isCancelled in
                        _ = try self.model.makeSequence().generate(
                            self.encode(prompt), options: options, body: { continuation.yield($0) }, isCancelled: isCancelled)
                    }
                    continuation.finish()
                } catch {
                    continuation.finish(throwing: error)
                }
            }
            continuation.onTermination = { _ in work.cancel() }
        }
    }

    /// The log-probability of each token of a text, with the `top` likeliest alternatives.
    public func score(_ text: String, top: Int = 0) throws -> [TokenLogprob] { try score(ids: encode(text), top: top) }

    public func score(ids: [Int], top: Int = 0) throws -> [TokenLogprob] { try model.makeSequence().score(ids, top: top) }

    /// The perplexity of a text of any length: windows of the context's length, each of which predicts the tokens that the one before did not,
    /// with at least `overlap` tokens before them.
    ///
    /// - Parameters:
    ///   - window: Tokens of a window; nil: the context's length, up to 1024.
    ///   - overlap: nil: half a window.
    ///   - progress: Called with the share of the text that is done.
    public func perplexity(
        of text: String, window: Int? = nil, overlap: Int? = nil, progress: (Double) -> Void = { _ in }, isCancelled: () -> Bool = { false }
    ) throws -> Perplexity {
        let ids = try encode(text)
        guard ids.count > 1 else { throw TaskError(.invalidInput, "the text has \(ids.count) tokens; perplexity needs at least 2") }
        let window = window ?? min(model.contextLength, 1024)
        guard window > 1, window <= model.contextLength else {
            throw TaskError(.invalidInput, "a window of \(window) tokens does not fit the context of \(model.contextLength)")
        }
        let overlap = overlap ?? window / 2
        guard overlap >= 0, overlap < window else { throw TaskError(.invalidInput, "an overlap of \(overlap) is not below the window of \(window)") }
        let sequence = try model.makeSequence()
        var sum = 0.0
        var count = 0
        var predicted = 1
        while predicted < ids.count {
            let start = max(0, predicted == 1 ? 0 : predicted - max(overlap, 1))
            let part = Array(ids[start..<min(start + window, ids.count)])
            for (offset, token) in try sequence.score(part, isCancelled: isCancelled).enumerated() where start + offset >= predicted {
                guard let logprob = token.logprob else { continue }
                sum -= Double(logprob)
                count += 1
            }
            predicted = start + part.count
            progress(Double(predicted) / Double(ids.count))
        }
        return Perplexity(value: exp(sum / Double(count)), tokens: count, bitsPerByte: sum / log(2) / Double(max(text.utf8.count, 1)))
    }
}
