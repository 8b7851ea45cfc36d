/// A text as a vector.
public struct Embedding: Sendable, Hashable {
    public let vector: [Float]
    /// Tokens that went into it, special tokens included.
    public let tokenCount: Int
    /// How many tokens of the input did not fit the model.
    public let truncatedTokenCount: Int
}

/// The vectors of a text's tokens, before pooling.
public struct TokenEmbeddings: Sendable, Hashable {
    public let tokens: [String]
    /// One vector a token.
    public let vectors: [[Float]]
    public let truncatedTokenCount: Int
}

/// The cosine of the angle between two vectors: 1 for the same direction; 0 where one of them has no length.
///
/// - Precondition: none; vectors of different lengths compare over the shorter one's components only if they are equal in
///   number, else the result is NaN.
public func cosineSimilarity(_ a: [Float], _ b: [Float]) -> Float {
    guard a.count == b.count else { return .nan }
    var product = 0.0
    var lengthA = 0.0
    var lengthB = 0.0
    for index in a.indices {
        let x = Double(a[index])
        let y = Double(b[index])
        product += x * y
        lengthA += x * x
        lengthB += y * y
    }
    guard lengthA > 0, lengthB > 0 else { return lengthA.isNaN || lengthB.isNaN ? .nan : 0 }
    return Float(product / (lengthA * lengthB).squareRoot())
}
