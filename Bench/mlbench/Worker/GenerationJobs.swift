import BenchmarkSuite
import Foundation
import GraphFile
import Tasks

/// Positions of the cache, as the peers have them.
private let contextLength = 1024

/// A prompt up to the choice of the first token.
struct PromptJob: WorkerJob {
    let loaded: WorkerReply.Loaded
    private let sequence: TokenSequence
    private let prompt: [Int]
    private let options: GenerationOptions

    init(_ graph: URL, prompt: [Int], threads: Int) throws {
        let file = try GraphFile(contentsOf: graph)
        let model = try LanguageModel(file, name: graph.lastPathComponent, threads: threads, contextLength: contextLength)
        sequence = try model.makeSequence()
        self.prompt = prompt
        options = greedy(1)
        loaded = WorkerReply.Loaded(weightsOf: file.graph)
    }

    func run() throws -> Double {
        sequence.truncate(to: 0)
        return try seconds { _ = try sequence.generate(prompt, options: options) }
    }

    /// The log-probability of each token of the prompt but the first.
    func answer() throws -> [[Double]] { [try sequence.score(prompt).compactMap { $0.logprob.map(Double.init) }] }
}

/// Greedy tokens behind a prompt. The first token is not counted: it belongs to the prompt.
struct DecodeJob: WorkerJob {
    let loaded: WorkerReply.Loaded
    private let sequence: TokenSequence
    private let prompt: [Int]
    private let options: GenerationOptions

    init(_ graph: URL, prompt: [Int], newTokens: Int, threads: Int) throws {
        let file = try GraphFile(contentsOf: graph)
        let model = try LanguageModel(file, name: graph.lastPathComponent, threads: threads, contextLength: contextLength)
        sequence = try model.makeSequence()
        self.prompt = prompt
        options = greedy(newTokens)
        loaded = WorkerReply.Loaded(weightsOf: file.graph)
    }

    func run() throws -> Double { try generate().statistics.generationSeconds }
    func answer() throws -> [[Double]] { [try generate().ids.map(Double.init)] }

    private func generate() throws -> GeneratedText {
        sequence.truncate(to: 0)
        return try sequence.generate(prompt, options: options)
    }
}

private func greedy(_ count: Int) -> GenerationOptions {
    var options = GenerationOptions()
    options.maximumTokens = count
    options.sampling = .greedy
    options.ignoresEndTokens = true
    return options
}
