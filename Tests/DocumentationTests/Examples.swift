import Foundation
import Tasks

// The Swift examples of the README and the articles, so that they compile. `DocumentationTests` holds them against the documents.

func readmeExample() async throws {
    let classifier = try TextClassifier(contentsOf: URL(fileURLWithPath: "sentiment.graph"))
    let answer = try classifier.classify("I love this")
    print(answer.label, answer.confidence)

    let embedder = try TextEmbedder(contentsOf: URL(fileURLWithPath: "minilm.graph"))
    let vector = try embedder.embed("A sentence becomes 384 numbers.").vector
    let closeness = try embedder.similarity("a cat", "a kitten")

    let notes = ["Keys are in the drawer.", "The car is on level 3."]
    let search = try TextSearch(notes, embedder: embedder)
    for hit in try search.find("where did I park", top: 1) {
        print(hit.score, notes[hit.index])
    }
    _ = (vector, closeness)
}

func classifyingArticle(_ reviews: [String]) async throws {
    let classifier = try TextClassifier(contentsOf: URL(fileURLWithPath: "sentiment.graph"))
    let answer = try classifier.classify("I love this")
    print(answer.label, answer.confidence)
    let answers = try await classifier.classify(reviews)
    _ = answers
}

func embeddingArticle() throws {
    let embedder = try TextEmbedder(contentsOf: URL(fileURLWithPath: "minilm.graph"))
    let vector = try embedder.embed("A man is eating food.").vector
    let closeness = try embedder.similarity("A man is eating food.", "Someone is having a meal.")
    _ = (vector, closeness)
}

func searchingArticle(_ notes: [String]) throws {
    let embedder = try TextEmbedder(contentsOf: URL(fileURLWithPath: "minilm.graph"))
    let search = try TextSearch(notes, embedder: embedder)
    for hit in try search.find("where did I park", top: 3) {
        print(hit.score, notes[hit.index])
    }
}

func generatingArticle(_ book: String) async throws {
    let generator = try TextGenerator(contentsOf: URL(fileURLWithPath: "smollm2.graph"))
    for try await piece in generator.stream("Once upon a time") {
        print(piece.text, terminator: "")
    }
    var options = GenerationOptions()
    options.maximumTokens = 40
    options.stop = ["\n"]
    var sampling = SamplingOptions()
    sampling.temperature = 0.7
    sampling.seed = 1
    options.sampling = sampling
    let story = try await generator.generate("The sea was", options: options)
    print(story.text, story.finishReason)
    let chat = try ChatSession(generator.model, system: "Answer in one sentence.")
    let reply = try chat.send("Why is the sky blue?") { print($0.text, terminator: "") }
    let tokens = try generator.score("The capital of France is Paris", top: 3)
    let perplexity = try generator.perplexity(of: book).value
    _ = (reply, tokens, perplexity)
}
