/// Replaces every match of a pattern in each token.
struct ReplaceDecoder: Decoder {
    static let typeName = "Replace"
    private let pattern: TextPattern
    private let content: [UInt8]

    init(_ json: ComponentJSON) throws {
        pattern = try json.pattern()
        content = try json.bytes("content")
    }

    func stage(next: DecoderSink) -> DecoderSink {
        TokenStage(next: next) { token, _, emit in
            do {
                let matches = try pattern.matches(in: token)
                try TextPattern.checkGrowth(matches, of: token.count, content)
                emit(token.replacing(matches, with: content))
            } catch {
                next.fail(error)
            }
        }
    }
}
