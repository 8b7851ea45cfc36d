/// A token that a model found in a piece.
struct ModelToken: Sendable {
    var id: UInt32
    /// Bytes of the piece.
    var start: Int32
    var end: Int32
    /// The token is shown as the text of the piece, not as the vocabulary has it.
    var isSurface: Bool

    @inline(__always)
    init(_ id: UInt32, _ start: Int, _ end: Int, isSurface: Bool = false) {
        self.id = id
        self.start = Int32(truncatingIfNeeded: start)
        self.end = Int32(truncatingIfNeeded: end)
        self.isSurface = isSurface
    }
}

/// Cuts pieces into tokens of a vocabulary.
protocol Model: Sendable {
    static var typeName: String { get }
    /// Reads the settings of the model; its tables come from `reader`.
    init(_ json: ComponentJSON, vocabulary: Vocabulary, reader: CompiledReader) throws
    /// Appends the tokens of one piece, which is not empty.
    func tokenize(_ piece: UnsafeBufferPointer<UInt8>, into tokens: inout [ModelToken], _ workspace: ModelWorkspace) throws
}

enum Models {
    /// Every model that a tokenizer file can name.
    static let all: [any Model.Type] = [WordPiece.self, BPE.self, ScoredBPE.self, Unigram.self, WordLevel.self, MarkedWords.self]

    static func read(_ json: ComponentJSON, vocabulary: Vocabulary, reader: CompiledReader) throws -> any Model {
        let name = try json.type()
        guard let type = all.first(where: { $0.typeName == name }) else { throw json.unsupported("the model \(name)") }
        return try type.init(json, vocabulary: vocabulary, reader: reader)
    }
}

/// Memory that models reuse from piece to piece. One thread at a time uses it.
final class ModelWorkspace {
    var merger = BPEMerger()
    var cache = WordCache()
    var lattice: [UnigramNode] = []
    var tokens: [ModelToken] = []
}
