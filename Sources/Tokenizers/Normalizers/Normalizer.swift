/// Rewrites a text before it is cut, and keeps track of where each byte came from.
protocol Normalizer: Sendable {
    static var typeName: String { get }
    init(_ json: ComponentJSON) throws
    func normalize(_ text: inout NormalizedText) throws
}

enum Normalizers {
    /// Every normalizer that a tokenizer file can name.
    static let all: [any Normalizer.Type] = [
        BertNormalizer.self,
        NFC.self,
        NFD.self,
        NFKC.self,
        NFKD.self,
        Lowercase.self,
        StripAccents.self,
        StripNormalizer.self,
        ReplaceNormalizer.self,
        Prepend.self,
        Nmt.self,
        ByteLevelNormalizer.self,
        Precompiled.self,
        UnigramSpaces.self,
        SentencePieceNormalizer.self,
        NormalizerSequence.self,
    ]

    static func read(_ json: ComponentJSON) throws -> any Normalizer {
        let name = try json.type()
        guard let type = all.first(where: { $0.typeName == name }) else {
            throw json.unsupported("the normalizer \(name)")
        }
        return try type.init(json)
    }
}

/// Several normalizers, one after the other.
struct NormalizerSequence: Normalizer {
    static let typeName = "Sequence"
    private let normalizers: [any Normalizer]

    init(_ json: ComponentJSON) throws {
        normalizers = try json.components("normalizers").map(Normalizers.read)
    }

    func normalize(_ text: inout NormalizedText) throws {
        for normalizer in normalizers { try normalizer.normalize(&text) }
    }
}
