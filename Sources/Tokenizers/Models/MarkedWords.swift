/// SentencePiece's word model: a word begins at U+2581 and is one token; neighbouring words that are no tokens are one unknown token.
struct MarkedWords: Model {
    static let typeName = "MarkedWords"
    private let trie: TokenTrie
    private let unknown: UInt32

    init(_ json: ComponentJSON, vocabulary: Vocabulary, reader: CompiledReader) throws {
        trie = vocabulary.trie
        unknown = UInt32(try json.count("unk_id"))
    }

    func tokenize(_ piece: UnsafeBufferPointer<UInt8>, into tokens: inout [ModelToken], _ workspace: ModelWorkspace) throws {
        var start = 0
        while start < piece.count {
            var end = start + 1
            while end < piece.count, !piece[end...].starts(with: SpaceMark.bytes) { end += 1 }
            if let id = trie.find(UnsafeBufferPointer(rebasing: piece[start..<end])) {
                tokens.append(ModelToken(id, start, end))
            } else {
                tokens.appendUnknown(unknown, start, end)
            }
            start = end
        }
    }
}

extension [ModelToken] {
    /// Adds an unknown token, or makes the last one longer if that is unknown too.
    mutating func appendUnknown(_ id: UInt32, _ start: Int, _ end: Int) {
        if let last, last.id == id, last.isSurface, Int(last.end) == start {
            self[count - 1] = ModelToken(id, Int(last.start), end, isSurface: true)
        } else {
            append(ModelToken(id, start, end, isSurface: true))
        }
    }
}
