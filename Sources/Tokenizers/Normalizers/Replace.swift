/// Replaces every match of a pattern by a text.
struct ReplaceNormalizer: Normalizer {
    static let typeName = "Replace"
    private let pattern: TextPattern
    private let content: [UInt8]

    init(_ json: ComponentJSON) throws {
        pattern = try json.pattern()
        content = try json.bytes("content")
    }

    func normalize(_ text: inout NormalizedText) throws {
        text.replace(try pattern.matches(in: text.bytes), with: content)
    }
}
