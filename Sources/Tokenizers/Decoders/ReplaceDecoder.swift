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
            // A token whose match would take too many steps stays as it is: a decoder has no way to fail half-way.
            guard let matches = try? pattern.matches(in: token) else { return emit(token) }
            emit(token.replacing(matches, with: content))
        }
    }
}
