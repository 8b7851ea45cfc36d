/// WordLevel: each piece is one token, or the unknown token.
struct WordLevel: Model {
    static let typeName = "WordLevel"
    private let trie: TokenTrie
    private let unknown: UInt32?
    private let unknownToken: String

    init(_ json: ComponentJSON, vocabulary: Vocabulary, reader: CompiledReader) throws {
        trie = vocabulary.trie
        let token = try json.optionalBytes("unk_token") ?? Array("<unk>".utf8)
        unknown = trie.find(token)
        unknownToken = String(decoding: token, as: UTF8.self)
    }

    func tokenize(_ piece: UnsafeBufferPointer<UInt8>, into tokens: inout [ModelToken], _ workspace: ModelWorkspace) throws {
        guard let id = trie.find(piece) ?? unknown else {
            throw TokenizerError.invalid(path: "model.unk_token", reason: "\(unknownToken) is not in the vocabulary")
        }
        tokens.append(ModelToken(id, 0, piece.count))
    }
}
