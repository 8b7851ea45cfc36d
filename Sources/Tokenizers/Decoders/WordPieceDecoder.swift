/// Joins WordPiece tokens: a token with the prefix continues a word, any other begins one.
struct WordPieceDecoder: Decoder {
    static let typeName = "WordPiece"
    private let prefix: [UInt8]
    private let cleansUp: Bool

    init(_ json: ComponentJSON) throws {
        prefix = try json.optionalBytes("prefix") ?? Array("##".utf8)
        cleansUp = try json.bool("cleanup", default: true)
    }

    func stage(next: DecoderSink) -> DecoderSink {
        TokenStage(next: next) { token, index, emit in
            var output = token
            if index > 0 {
                if token.starts(with: prefix) {
                    output.removeFirst(prefix.count)
                } else {
                    output.insert(0x20, at: 0)
                }
            }
            emit(cleansUp ? Self.cleanedUp(output) : output)
        }
    }

    private static let replacements: [(StaticString, StaticString)] = [
        (" .", "."), (" ?", "?"), (" !", "!"), (" ,", ","), (" ' ", "'"), (" n't", "n't"), (" 'm", "'m"),
        (" do not", " don't"), (" 's", "'s"), (" 've", "'ve"), (" 're", "'re"),
    ]

    /// Undoes the spaces that tokenization puts around punctuation, within one token.
    static func cleanedUp(_ token: [UInt8]) -> [UInt8] {
        // Every replacement needs a space, and either one of these marks or a second space.
        var spaces = 0
        var hasMark = false
        for byte in token {
            switch byte {
            case 0x20: spaces += 1
            case 0x21, 0x27, 0x2C, 0x2E, 0x3F: hasMark = true
            default: break
            }
        }
        guard spaces > 1 || (spaces == 1 && hasMark) else { return token }
        return replacements.reduce(token) { $0.replacing(bytes($1.0), with: bytes($1.1)) }
    }

    private static func bytes(_ string: StaticString) -> [UInt8] {
        string.withUTF8Buffer { Array($0) }
    }
}

extension [UInt8] {
    /// Every occurrence of `pattern`, from the left, replaced. An empty pattern occurs before each scalar and at the end.
    func replacing(_ pattern: [UInt8], with content: [UInt8]) -> [UInt8] {
        var matches: [Match] = []
        // A literal search does not fail.
        withUnsafeBufferPointer { TextPattern.literalMatches(pattern, in: $0, into: &matches) }
        return replacing(matches, with: content)
    }

    func replacing(_ matches: [Match], with content: [UInt8]) -> [UInt8] {
        matches.reduce(into: []) { $0 += $1.isMatch ? content : Array(self[$1.start..<$1.end]) }
    }
}
