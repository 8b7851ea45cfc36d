/// Decodes the output of a CTC model: repeated tokens are one, pad tokens vanish, the delimiter becomes a space.
struct CTC: Decoder {
    static let typeName = "CTC"
    private let padToken: [UInt8]
    private let delimiter: [UInt8]
    private let cleansUp: Bool

    init(_ json: ComponentJSON) throws {
        padToken = try json.optionalBytes("pad_token") ?? Array("<pad>".utf8)
        delimiter = try json.optionalBytes("word_delimiter_token") ?? Array("|".utf8)
        cleansUp = try json.bool("cleanup", default: true)
    }

    func stage(next: DecoderSink) -> DecoderSink {
        var previous: [UInt8]?
        return TokenStage(next: next) { token, _, emit in
            if token == previous { return }
            previous = token
            var output = token.replacing(padToken, with: [])
            if cleansUp { output = WordPieceDecoder.cleanedUp(output).replacing(delimiter, with: [0x20]) }
            if !output.isEmpty { emit(output) }
        }
    }
}
