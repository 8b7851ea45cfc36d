/// WordPiece: takes the longest piece of the vocabulary from the left, again and again; pieces inside a word carry a
/// prefix. A word that cannot be covered, or that is too long, is one unknown token.
struct WordPiece: Model {
    static let typeName = "WordPiece"
    private let trie: TokenTrie
    /// Node of the prefix in the trie, -1 when no token begins with it.
    private let continuation: Int
    private let unknown: UInt32?
    private let unknownToken: String
    private let maximumScalars: Int

    init(_ json: ComponentJSON, vocabulary: Vocabulary, reader: CompiledReader) throws {
        trie = vocabulary.trie
        continuation = trie.node(of: try json.optionalBytes("continuing_subword_prefix") ?? Array("##".utf8))
        let token = try json.optionalBytes("unk_token") ?? Array("[UNK]".utf8)
        unknown = trie.find(token)
        unknownToken = String(decoding: token, as: UTF8.self)
        maximumScalars = try json.optionalCount("max_input_chars_per_word") ?? 100
    }

    func tokenize(_ piece: UnsafeBufferPointer<UInt8>, into tokens: inout [ModelToken], _ workspace: ModelWorkspace) throws {
        let first = tokens.count
        var isCovered = true
        if piece.count > maximumScalars {
            var scalars = 0
            for byte in piece where byte & 0xC0 != 0x80 { scalars += 1 }
            isCovered = scalars <= maximumScalars
        }
        var start = 0
        while isCovered, start < piece.count {
            let root = start == 0 ? TokenTrie.root : continuation
            guard root >= 0, let found = trie.longestPrefix(of: piece, at: start, from: root) else {
                isCovered = false
                break
            }
            tokens.append(ModelToken(found.value, start, found.end))
            start = found.end
        }
        if !isCovered {
            tokens.removeSubrange(first...)
            guard let unknown else {
                throw TokenizerError.invalid(path: "model.unk_token", reason: "\(unknownToken) is not in the vocabulary")
            }
            tokens.append(ModelToken(unknown, 0, piece.count))
        }
    }
}
