/// Cuts a normalized text into the pieces that the model sees.
protocol PreTokenizer: Sendable {
    static var typeName: String { get }
    init(_ json: ComponentJSON) throws
    func preTokenize(_ buffer: inout PieceBuffer) throws
}

enum PreTokenizers {
    /// Every pre-tokenizer that a tokenizer file can name.
    static let all: [any PreTokenizer.Type] = [
        BertPreTokenizer.self,
        MarkedBertWords.self,
        ByteLevel.self,
        Metaspace.self,
        Whitespace.self,
        WhitespaceSplit.self,
        Punctuation.self,
        Digits.self,
        Split.self,
        CharDelimiterSplit.self,
        FixedLength.self,
        UnicodeScripts.self,
        PreTokenizerSequence.self,
    ]

    static func read(_ json: ComponentJSON) throws -> any PreTokenizer {
        let name = try json.type()
        guard let type = all.first(where: { $0.typeName == name }) else {
            throw json.unsupported("the pre-tokenizer \(name)")
        }
        return try type.init(json)
    }
}

/// Several pre-tokenizers, one after the other.
struct PreTokenizerSequence: PreTokenizer {
    static let typeName = "Sequence"
    private let preTokenizers: [any PreTokenizer]

    init(_ json: ComponentJSON) throws {
        preTokenizers = try json.components("pretokenizers").map(PreTokenizers.read)
    }

    func preTokenize(_ buffer: inout PieceBuffer) throws {
        for preTokenizer in preTokenizers { try preTokenizer.preTokenize(&buffer) }
    }
}
