/// One found text.
public struct SearchResult: Sendable, Hashable {
    /// Cosine similarity to the query.
    public let score: Float
    /// Position in the texts that were searched.
    public let index: Int
}

/// Ranks texts by how close their meaning is to a query.
///
///     let search = try TextSearch(texts, embedder: embedder)
///     for hit in try search.find("a place to sleep", top: 3) { print(hit.score, texts[hit.index]) }
public struct TextSearch: Sendable {
    private let embedder: TextEmbedder
    private let vectors: [[Float]]

    /// Embeds the texts.
    ///
    /// - Parameter progress: Called with the number of texts done since the last call.
    public init(_ texts: [String], embedder: TextEmbedder, progress: (Int) -> Void = { _ in }) throws {
        self.embedder = embedder
        var vectors: [[Float]] = []
        vectors.reserveCapacity(texts.count)
        // In portions that are large enough for batches of similar length.
        let portion = 256
        for start in stride(from: 0, to: texts.count, by: portion) {
            let part = Array(texts[start..<min(start + portion, texts.count)])
            vectors += try embedder.embed(part).map(\.vector)
            progress(part.count)
        }
        self.vectors = vectors
    }

    public var count: Int { vectors.count }

    /// The closest texts, best first; of equal scores the earlier one first.
    public func find(_ query: String, top: Int) throws -> [SearchResult] {
        let target = try embedder.embed(query).vector
        let scores = vectors.map { cosineSimilarity(target, $0) }
        return scores.indices
            .sorted { scores[$0] == scores[$1] || scores[$0].isNaN || scores[$1].isNaN ? $0 < $1 : scores[$0] > scores[$1] }
            .prefix(max(top, 0)).map { SearchResult(score: scores[$0], index: $0) }
    }
}
