import Foundation
import GraphFile
import Tokenizers

/// Turns texts into vectors whose cosine says how close their meanings are.
///
///     let embedder = try TextEmbedder(contentsOf: url)
///     let vector = try embedder.embed("A sentence").vector
///     let closeness = try embedder.similarity("a cat", "a kitten")
public final class TextEmbedder: Sendable {
    public let model: TextModel
    /// Components of a vector.
    public let dimension: Int?
    private let output: String
    private let pooling: ModelDescription.Pooling

    /// Loads an embedding model.
    ///
    /// - Throws: errors of `TextModel`, and `TaskError` where the model gives no vectors.
    public convenience init(contentsOf url: URL, options: ModelOptions = ModelOptions()) throws {
        try self.init(model: TextModel(contentsOf: url, options: options), name: url.lastPathComponent)
    }

    public init(model: TextModel, name: String = "the model") throws {
        guard model.description.task == .embedding else {
            throw TaskError(.unsuitableModel, "\(name) is made for \(model.description.task.rawValue), not embedding")
        }
        guard let output = model.description.output, let pooling = model.description.pooling,
            let type = model.executor.outputs.first(where: { $0.name == output })?.type
        else { throw TaskError(.unsuitableModel, "\(name) does not say which output is to be pooled and how; convert it again with --pooling") }
        let rank = pooling == .none ? 2 : 3
        guard type.rank == rank else {
            let expected = pooling == .none ? "[batch, width]" : "[batch, tokens, width]"
            throw TaskError(.unsuitableModel, "output '\(output)' of \(name) is \(type), expected \(expected)")
        }
        dimension = type.dims[rank - 1].fixedValue
        self.model = model
        self.output = output
        self.pooling = pooling
    }

    /// The vector of one text.
    ///
    /// - Throws: errors of the tokenizer and the runtime.
    public func embed(_ text: String) throws -> Embedding {
        guard let embedding = try embed([text], isCancelled: { false }).first else { throw TaskError(.invalidInput, "there is no text to embed") }
        return embedding
    }

    /// The vectors of many texts, in their order. Texts of similar length run together; the answers are those of one by one.
    public func embed(_ texts: [String]) throws -> [Embedding] { try embed(texts, isCancelled: { false }) }

    /// The same without blocking; cancellation takes effect between batches.
    public func embed(_ texts: [String]) async throws -> [Embedding] {
        try await asynchronously { isCancelled in try self.embed(texts, isCancelled: isCancelled) }
    }

    /// The cosine similarity of two texts, from -1 to 1.
    public func similarity(_ a: String, _ b: String) throws -> Float {
        let embeddings = try embed([a, b])
        return cosineSimilarity(embeddings[0].vector, embeddings[1].vector)
    }

    /// The vectors of a text's tokens, special tokens included.
    ///
    /// - Throws: `TaskError` where the model pools inside.
    public func tokenEmbeddings(_ text: String) throws -> TokenEmbeddings {
        guard pooling != .none else { throw TaskError(.unsuitableModel, "the model pools inside; it has no token vectors") }
        let encoding = try model.encode(text)
        var vectors: [[Float]] = []
        try model.run([encoding], output: output) { _, shape, row in
            let width = shape[1]
            vectors = (0..<encoding.ids.count).map { Array(row[$0 * width..<($0 + 1) * width]) }
        }
        return TokenEmbeddings(tokens: encoding.tokens, vectors: vectors, truncatedTokenCount: encoding.truncatedTokenCount)
    }

    private func embed(_ texts: [String], isCancelled: () -> Bool) throws -> [Embedding] {
        let encodings = try texts.map { try model.encode($0) }
        var result = [Embedding?](repeating: nil, count: texts.count)
        try model.run(encodings, output: output, isCancelled: isCancelled) { index, shape, row in
            guard let width = shape.last else { throw TaskError(.unsuitableModel, "output '\(output)' has no width") }
            var vector = pooling.pool(row, count: encodings[index].ids.count, width: width)
            if model.description.normalizesEmbeddings { Self.normalize(&vector) }
            result[index] = Embedding(
                vector: vector, tokenCount: encodings[index].ids.count,
                truncatedTokenCount: encodings[index].truncatedTokenCount)
        }
        return result.compactMap { $0 }
    }

    /// Scales to length 1; a vector shorter than 1e-12 is divided by that, as PyTorch's `normalize` does.
    private static func normalize(_ vector: inout [Float]) {
        let length = max(vector.reduce(0.0) { $0 + Double($1) * Double($1) }.squareRoot(), 1e-12)
        for index in vector.indices { vector[index] = Float(Double(vector[index]) / length) }
    }
}
