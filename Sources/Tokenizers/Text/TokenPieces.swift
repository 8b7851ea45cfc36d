/// The bytes that each token stands for, by its type, as in a GGUF file.
struct TokenPieces: Sendable {
    static let key = "mlgraph_pieces"

    /// How normal tokens are written.
    enum Writing: String, Sendable {
        /// A visible letter for each byte.
        case byteLevel = "byte_level"
        /// Text with U+2581 for spaces.
        case marked
    }

    private let writing: Writing
    private let types: ByteView

    init(_ json: ComponentJSON, vocabulary: Vocabulary, reader: CompiledReader) throws {
        writing = try json.choice("text", of: Writing.self)
        types = try reader.required(.tokenTypes)
        guard types.count == vocabulary.idLimit else {
            throw TokenizerError.malformedCompiled(reason: "there is not one type for each token")
        }
    }

    /// The bytes of a token; they need not be whole characters. Nil for a special token to skip.
    func piece(of id: UInt32, _ token: [UInt8], skipSpecialTokens: Bool) -> [UInt8]? {
        guard let type = types.bytes(offset: Int(id), count: 1)?.first.flatMap(GGUFVocabulary.TokenType.init) else { return nil }
        switch type {
        case .control, .unknown: return skipSpecialTokens ? nil : token
        case .userDefined: return token
        case .byte: return ByteToken.byte(of: token).map { [$0] } ?? []
        case .unused, .undefined: return []
        case .normal:
            switch writing {
            case .marked: return token.replacing(SpaceMark.bytes, with: [0x20])
            case .byteLevel: return ByteAlphabet.bytes(of: token) ?? token
            }
        }
    }
}

/// SentencePiece's visible space, U+2581.
enum SpaceMark {
    static let bytes: [UInt8] = [0xE2, 0x96, 0x81]
}
