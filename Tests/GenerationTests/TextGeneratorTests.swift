import Foundation
import TestSupport
import Testing

@testable import Tasks

@Suite struct TextGeneratorTests {
    static func options(_ count: Int, seed: UInt64? = nil, change: (inout GenerationOptions) -> Void = { _ in }) -> GenerationOptions {
        var options = GenerationOptions()
        options.maximumTokens = count
        options.ignoresEndTokens = true
        if let seed {
            var sampling = SamplingOptions()
            sampling.seed = seed
            options.sampling = sampling
        } else {
            options.sampling = .greedy
        }
        change(&options)
        return options
    }

    /// What the model says without a cache, token by token.
    static func greedy(_ model: LanguageModel, _ prompt: [Int], _ count: Int) throws -> [Int] {
        var ids = prompt
        for _ in 0..<count {
            let logits = try model.run([ids], cache: nil, allPositions: true).floats()
            ids.append(try Array(logits.suffix(257)).withUnsafeBufferPointer(Sampler.largest))
        }
        return Array(ids.dropFirst(prompt.count))
    }

    @Test func cacheAndLastPositionChangeNothing() throws {
        let model = try ToyModel.load()
        let generator = TextGenerator(model: model)
        for prompt in ["a", "Once upon", "\u{E9}\u{1F600}"] {
            let ids = try generator.encode(prompt)
            let result = try generator.generate(ids: ids, options: Self.options(20))
            #expect(result.ids == (try Self.greedy(model, ids, 20)))
            #expect(result.finishReason == .length && result.statistics.promptTokens == ids.count)
        }
    }

    @Test func batchesEqualOneByOne() throws {
        let generator = TextGenerator(model: try ToyModel.load())
        let prompts = ["a", "Once upon a time", "xyz", "\n"]
        for seed: UInt64? in [nil, 5] {
            let together = try generator.generate(prompts, options: Self.options(16, seed: seed))
            for (prompt, result) in zip(prompts, together) {
                let alone = try generator.generate(prompt, options: Self.options(16, seed: seed))
                #expect(result.ids == alone.ids && result.text == alone.text, "\(prompt)")
            }
        }
    }

    @Test func oneSeedGivesOneTextWhateverTheThreads() throws {
        let texts = try [1, 2, 5].map { threads in
            try TextGenerator(model: ToyModel.load(threads: threads)).generate("seed", options: Self.options(30, seed: 77)).ids
        }
        #expect(Set(texts).count == 1 && texts[0].count == 30)
        let other = try TextGenerator(model: ToyModel.load()).generate("seed", options: Self.options(30, seed: 78)).ids
        #expect(other != texts[0])
    }

    @Test func reusedPrefixesChangeNothing() throws {
        let model = try ToyModel.load()
        let sequence = try model.makeSequence()
        let generator = TextGenerator(model: model)
        var known: [Int] = []
        for prompt in ["The sea", "The sea was", "The sky", "The sky", "X", "The sky was"] {
            let ids = try generator.encode(prompt)
            let result = try sequence.generate(ids, options: Self.options(8))
            #expect(result.ids == (try generator.generate(ids: ids, options: Self.options(8)).ids), "\(prompt)")
            #expect(result.statistics.reusedTokens == min(zip(known, ids).prefix { $0 == $1 }.count, ids.count - 1))
            known = ids + result.ids.dropLast()
        }
    }

    /// Random bytes are mostly no UTF-8: pieces hold back what is incomplete, and together are the text.
    @Test func piecesTogetherAreTheText() throws {
        let model = try ToyModel.load()
        for seed in UInt64(0)..<10 {
            var pieces: [GeneratedPiece] = []
            let result = try model.makeSequence().generate([65], options: Self.options(40, seed: seed)) { pieces.append($0) }
            #expect(pieces.map(\.text).joined() == result.text)
            #expect(pieces.compactMap(\.id) == result.ids)
            let whole = try #require(model.tokenizer).decode([65] + result.ids)
            #expect("A" + result.text == whole)
        }
    }

    @Test func stopStringsEndTheText() throws {
        let model = try ToyModel.load()
        // Bytes that spell ASCII only, so that a stop string can be cut out of the text.
        let free = try model.makeSequence().generate([65], options: Self.options(30, seed: 3))
        let scalars = Array(free.text.unicodeScalars)
        try #require(scalars.count > 8)
        let stop = String(String.UnicodeScalarView(scalars[5...6]))
        let expected = try #require(free.text.range(of: stop)).lowerBound
        var shown = ""
        let result = try model.makeSequence().generate([65], options: Self.options(30, seed: 3) { $0.stop = ["no such text", stop] }) { shown += $0.text }
        #expect(result.text == String(free.text[..<expected]) && shown == result.text)
        #expect(result.finishReason == .stop)
    }

    @Test func endTokensEndTheText() throws {
        let ids = try Self.greedy(ToyModel.load(), [65], 6)
        let model = try ToyModel.load { $0.generation?.endTokens = [ids[3]] }
        var options = Self.options(20)
        options.ignoresEndTokens = false
        let result = try TextGenerator(model: model).generate(ids: [65], options: options)
        #expect(result.ids == Array(ids.prefix { $0 != ids[3] }))
        #expect(result.finishReason == .stop)
    }

    @Test func aFullContextEndsTheText() throws {
        let model = try ToyModel.load()
        let result = try TextGenerator(model: model).generate(ids: [1, 2, 3], options: Self.options(500))
        #expect(result.finishReason == .context)
        // The last token needs no place in the context.
        #expect(result.ids.count == ToyModel.context - 3 + 1)
        let tooLong = Array(repeating: 7, count: ToyModel.context + 1)
        #expect(throws: TaskError.self) { _ = try TextGenerator(model: model).generate(ids: tooLong, options: Self.options(1)) }
        #expect(throws: TaskError.self) { _ = try ToyModel.load(contextLength: ToyModel.context + 1) }
    }

    @Test func wrongPromptsAreErrors() throws {
        let generator = TextGenerator(model: try ToyModel.load())
        for ids in [[], [257], [-1], [5, 1 << 40]] {
            #expect(throws: TaskError.self) { _ = try generator.generate(ids: ids, options: Self.options(1)) }
            #expect(throws: TaskError.self) { _ = try generator.generate(ids: [[1], ids], options: Self.options(1)) }
        }
        #expect(try generator.generate(ids: [[Int]](), options: Self.options(1)).isEmpty)
        #expect(try generator.generate(ids: [3], options: Self.options(0)).ids.isEmpty)
    }

    @Test func cancellationStopsWithinOneToken() throws {
        let model = try ToyModel.load()
        var count = 0
        let result = try model.makeSequence().generate([65], options: Self.options(40)) { _ in count += 1 } isCancelled: { count >= 5 }
        #expect(result.ids.count == 5 && result.finishReason == .cancelled)
    }

    @Test func streamsGiveThePieces() async throws {
        let generator = TextGenerator(model: try ToyModel.load())
        var text = ""
        for try await piece in generator.stream("Hello", options: Self.options(12, seed: 4)) { text += piece.text }
        let whole = try await generator.generate("Hello", options: Self.options(12, seed: 4))
        #expect(text == whole.text && whole.ids.count == 12)
        // Leaving the loop early must not hang or crash; the work behind it ends by itself.
        for try await _ in generator.stream("Hello", options: Self.options(40)) { break }
        await #expect(throws: TaskError.self) { for try await _ in generator.stream("", options: Self.options(4)) {} }
    }

    @Test func scoresAreLogSoftmaxOfTheLogits() throws {
        let model = try ToyModel.load()
        let ids = [72, 101, 108, 108, 111, 0, 255]
        let tokens = try TextGenerator(model: model).score(ids: ids, top: 3)
        let logits = try model.run([ids], cache: nil, allPositions: true).floats()
        #expect(tokens.map(\.id) == ids && tokens[0].logprob == nil && tokens[0].top.isEmpty)
        for (index, token) in tokens.enumerated().dropFirst() {
            let row = logits[(index - 1) * 257..<index * 257].map(Double.init)
            let total = log(row.reduce(0) { $0 + exp($1) })
            #expect(abs(Double(try #require(token.logprob)) - (row[token.id] - total)) < 1e-5)
            let best = row.indices.sorted { row[$0] > row[$1] }.prefix(3)
            #expect(token.top.map(\.id) == Array(best))
            #expect(abs(Double(token.top[0].logprob) - (row[best[0]] - total)) < 1e-5)
        }
    }

    @Test func perplexityIsThatOfTheScores() throws {
        let generator = TextGenerator(model: try ToyModel.load())
        let text = "The quick brown fox jumps over"
        let scores = try generator.score(text).compactMap { $0.logprob.map(Double.init) }
        let result = try generator.perplexity(of: text)
        #expect(result.tokens == scores.count)
        #expect(abs(log(result.value) + scores.reduce(0, +) / Double(scores.count)) < 1e-6)
        #expect(abs(result.bitsPerByte + scores.reduce(0, +) / log(2) / Double(text.utf8.count)) < 1e-6)
        // Longer than the context: each token is predicted once.
        let long = String(repeating: text, count: 5)
        #expect(try generator.perplexity(of: long, window: 20, overlap: 5).tokens == long.utf8.count - 1)
        #expect(throws: TaskError.self) { _ = try generator.perplexity(of: "a") }
        #expect(throws: TaskError.self) { _ = try generator.perplexity(of: text, window: 20, overlap: 20) }
    }

    @Test func aModelWithoutATokenizerTakesIds() throws {
        let model = try ToyModel.load(hasTokenizer: false)
        let generator = TextGenerator(model: model)
        let result = try generator.generate(ids: [65, 66], options: Self.options(5))
        #expect(result.ids == (try Self.greedy(ToyModel.load(), [65, 66], 5)) && result.text.isEmpty)
        #expect(throws: TaskError.self) { _ = try generator.generate("AB") }
        #expect(throws: TaskError.self) { _ = try generator.generate(ids: [65], options: Self.options(5) { $0.stop = ["x"] }) }
    }
}
