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
        let matches = try pattern.matches(in: text.bytes)
        try TextPattern.checkGrowth(matches, of: text.bytes.count, content)
        text.replace(matches, with: content)
    }
}
