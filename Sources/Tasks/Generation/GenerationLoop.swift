import Foundation
import Tensors
import Tokenizers

/// One text in the making: chooses tokens, turns them into text, and knows when to stop.
struct TextAssembly {
    private let model: LanguageModel
    private let options: GenerationOptions
    private let maximumTokens: Int
    private var sampler: Sampler
    private var stops: StopMatcher
    private let stream: DecodeStream?
    /// Prompt and generated tokens, for the repetition penalty.
    private var history: [Int]
    private(set) var result = GeneratedText()
    private(set) var isFinished = false

    /// The longest text without a limit from the caller or the model.
    static let usualMaximumTokens = 256

    init(_ model: LanguageModel, prompt: [Int], options: GenerationOptions) throws {
        if let count = options.maximumTokens, count < 0 { throw TaskError(.invalidInput, "the most tokens to generate is \(count)") }
        guard options.stop.isEmpty || model.tokenizer != nil else {
            throw TaskError(.unsuitableModel, "the model holds no tokenizer, so it cannot stop at a text; convert it again with --tokenizer PATH")
        }
        self.model = model
        self.options = options
        maximumTokens = options.maximumTokens ?? model.settings.maximumNewTokens ?? Self.usualMaximumTokens
        sampler = try Sampler(options.sampling ?? SamplingOptions(model.settings))
        stops = StopMatcher(options.stop)
        stream = model.tokenizer?.makeDecodeStream(skipSpecialTokens: true)
        history = prompt
        // The decoder sees the prompt first, so that the text behind it keeps its leading space.
        if let stream { for id in prompt { _ = try stream.emit(id) } }
        result.seed = sampler.seed
        result.statistics.promptTokens = prompt.count
        if maximumTokens == 0 { isFinished = true }
    }

    /// Chooses the next token.
    ///
    /// - Returns: The piece that became final; nil where the text ended before another token.
    mutating func take(_ logits: UnsafeBufferPointer<Float>) throws -> GeneratedPiece? {
        guard !isFinished else { return nil }
        let id = try sampler.next(logits, history: history)
        if !options.ignoresEndTokens, model.settings.endTokens.contains(id) {
            result.finishReason = .stop
            isFinished = true
            return nil
        }
        history.append(id)
        result.ids.append(id)
        result.statistics.generatedTokens += 1
        let logprob = options.logprobs.map { TokenLogprob(id: id, logits: logits, top: $0) }
        if let logprob { result.logprobs.append(logprob) }
        let text = stops.push(try stream?.emit(id) ?? "")
        result.text += text
        if stops.hasStopped {
            result.finishReason = .stop
            isFinished = true
        } else if result.ids.count >= maximumTokens {
            result.finishReason = .length
            isFinished = true
        }
        return GeneratedPiece(text: text, id: id, logprob: logprob)
    }

    mutating func end(_ reason: FinishReason) {
        result.finishReason = reason
        isFinished = true
    }

    /// The text that was held back, once the generation has ended.
    mutating func finish() throws -> GeneratedPiece? {
        let rest = stops.push(try stream?.flush() ?? "") + stops.finish()
        result.text += rest
        return rest.isEmpty ? nil : GeneratedPiece(text: rest, id: nil, logprob: nil)
    }

    var statistics: GenerationStatistics {
        get { result.statistics }
        set { result.statistics = newValue }
    }
}

extension TokenSequence {
    /// Generates behind `prompt`; tokens of an earlier call that the prompt begins with are not computed again.
    ///
    /// - Parameters:
    ///   - body: Called with each piece as it becomes final.
    ///   - isCancelled: Looked at before every token.
    /// - Throws: `TaskError` for a prompt or options that cannot be used; errors of the runtime; what `body` throws.
    public func generate(
        _ prompt: [Int], options: GenerationOptions = GenerationOptions(), body: (GeneratedPiece) throws -> Void = { _ in },
        isCancelled: () -> Bool = { false }
    ) throws -> GeneratedText {
        guard batch == 1 else { throw TaskError(.invalidInput, "a sequence of \(batch) rows generates by its batch") }
        var assembly = try TextAssembly(model, prompt: prompt, options: options)
        let clock = ContinuousClock()
        let start = clock.now
        var (logits, kept) = try set(prompt, isCancelled: isCancelled)
        assembly.statistics.reusedTokens = kept
        assembly.statistics.promptSeconds = start.duration(to: clock.now).seconds
        let first = clock.now
        while !assembly.isFinished {
            guard let piece = try logits.withElements(of: Float.self, { try assembly.take($0) }) else { break }
            try body(piece)
            if assembly.isFinished { break }
            if isCancelled() {
                assembly.end(.cancelled)
                break
            }
            guard room > 0, let id = piece.id else {
                assembly.end(.context)
                break
            }
            logits = try append([id])
        }
        assembly.statistics.generationSeconds = first.duration(to: clock.now).seconds
        if let rest = try assembly.finish() { try body(rest) }
        return assembly.result
    }

    /// Generates behind several prompts at once, one for each row. The texts are those of one by one.
    func generate(_ prompts: [[Int]], options: GenerationOptions, isCancelled: () -> Bool) throws -> [GeneratedText] {
        var assemblies = try prompts.map { try TextAssembly(model, prompt: $0, options: options) }
        let clock = ContinuousClock()
        let start = clock.now
        var logits = try set(prompts, isCancelled: isCancelled)
        let promptSeconds = start.duration(to: clock.now).seconds
        let first = clock.now
        while true {
            let width = logits.shape[1]
            var next = [Int](repeating: 0, count: batch)
            try logits.withElements(of: Float.self) { elements in
                for row in 0..<batch {
                    let part = UnsafeBufferPointer(rebasing: elements[row * width..<(row + 1) * width])
                    // Rows that have ended go on with any token until all have.
                    next[row] = try assemblies[row].take(part)?.id ?? 0
                }
            }
            if assemblies.allSatisfy(\.isFinished) { break }
            if isCancelled() || room == 0 {
                for row in assemblies.indices where !assemblies[row].isFinished { assemblies[row].end(room == 0 ? .context : .cancelled) }
                break
            }
            logits = try append(next)
        }
        let seconds = first.duration(to: clock.now).seconds
        return try assemblies.map { assembly in
            var assembly = assembly
            _ = try assembly.finish()
            assembly.statistics.promptSeconds = promptSeconds
            assembly.statistics.generationSeconds = seconds
            return assembly.result
        }
    }
}

extension Duration {
    var seconds: Double { Double(components.seconds) + Double(components.attoseconds) * 1e-18 }
}
