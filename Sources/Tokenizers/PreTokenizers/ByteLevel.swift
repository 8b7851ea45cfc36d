/// GPT-2's treatment of text: cuts it by a fixed pattern and writes each byte as a visible letter.
struct ByteLevel: PreTokenizer, Decoder, PostProcessor {
    static let typeName = "ByteLevel"
    private let addsPrefixSpace: Bool
    private let trimsOffsets: Bool
    private let usesPattern: Bool

    init(_ json: ComponentJSON) throws {
        addsPrefixSpace = try json.bool("add_prefix_space", default: true)
        trimsOffsets = try json.bool("trim_offsets", default: true)
        usesPattern = try json.bool("use_regex", default: true)
    }

    func preTokenize(_ buffer: inout PieceBuffer) throws {
        if addsPrefixSpace {
            let old = buffer
            try buffer.rewrite { piece, bytes, writer in
                if bytes.first != 0x20 { writer.append(0x20, old.span(at: piece.start)) }
                for index in 0..<bytes.count { writer.append(bytes[index], old.span(at: piece.start + index)) }
            }
        }
        if usesPattern { try buffer.split { piece, keep in GPT2Pattern.split(piece, keep) } }
        let old = buffer
        try buffer.rewrite { piece, bytes, writer in
            for index in 0..<bytes.count {
                let span = old.span(at: piece.start + index)
                let letter = ByteAlphabet.letter(of: bytes[index])
                if letter < 0x80 {
                    writer.append(UInt8(truncatingIfNeeded: letter), span)
                } else {
                    writer.append(UInt8(truncatingIfNeeded: 0xC0 | letter >> 6), span)
                    writer.append(UInt8(truncatingIfNeeded: 0x80 | letter & 0x3F), span)
                }
            }
        }
    }

    func stage(next: DecoderSink) -> DecoderSink { ByteLevelStage(next: next) }

    func addedTokenCount(isPair: Bool) -> Int { 0 }

    func process(_ encodings: [Encoding], addSpecialTokens: Bool) -> [Encoding] {
        trimsOffsets ? encodings.map { $0.trimmingSpaces(hasPrefixSpace: addsPrefixSpace) } : encodings
    }
}

/// Turns visible letters back into bytes, over all tokens as one text. A token with any other letter is plain text.
private final class ByteLevelStage: DecoderSink {
    private let next: DecoderSink
    private var token: [UInt8] = []
    private var decoder = LossyDecoder()

    init(next: DecoderSink) { self.next = next }

    override func fail(_ error: any Error) { next.fail(error) }

    override func write(_ bytes: [UInt8]) { token += bytes }

    override func endToken() {
        var output: [UInt8] = []
        for byte in ByteAlphabet.bytes(of: token) ?? token { decoder.push(byte, into: &output) }
        token.removeAll(keepingCapacity: true)
        next.write(output)
    }

    override func finish() {
        var output: [UInt8] = []
        decoder.finish(into: &output)
        next.write(output)
        next.endToken()
        next.finish()
    }
}

/// The pattern of GPT-2, as a scanner:
/// `'s|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+`.
enum GPT2Pattern {
    private enum Kind {
        case letter, number, space, other
    }

    @inline(__always)
    private static func kind(_ text: UnsafeBufferPointer<UInt8>, _ index: Int, _ table: ScalarTable) -> (Kind, Int) {
        let (scalar, length) = UTF8Bytes.scalar(text, at: index)
        let entry = table[scalar]
        if entry & ScalarTable.letter != 0 { return (.letter, length) }
        if entry & ScalarTable.number != 0 { return (.number, length) }
        return (entry & ScalarTable.whitespace != 0 ? .space : .other, length)
    }

    static func split(_ text: UnsafeBufferPointer<UInt8>, _ keep: (_ start: Int, _ end: Int) -> Void) {
        let table = ScalarTable.shared
        var start = 0
        while start < text.count {
            let length = contraction(text, start)
            if length > 0 {
                keep(start, start + length)
                start += length
                continue
            }
            // An optional space before a run of one kind.
            var run = start
            if text[start] == 0x20, start + 1 < text.count { run = start + 1 }
            let (runKind, _) = kind(text, run, table)
            if runKind != .space {
                var end = run
                while end < text.count {
                    let (next, length) = kind(text, end, table)
                    if next != runKind { break }
                    end += length
                }
                keep(start, end)
                start = end
                continue
            }
            // A run of spaces; the last one is left to what follows.
            var end = start
            var last = start
            while end < text.count {
                let (next, length) = kind(text, end, table)
                if next != .space { break }
                last = end
                end += length
            }
            if end < text.count, last > start { end = last }
            keep(start, end)
            start = end
        }
    }

    private static func contraction(_ text: UnsafeBufferPointer<UInt8>, _ start: Int) -> Int {
        guard text[start] == 0x27, start + 1 < text.count else { return 0 }
        switch text[start + 1] {
        case 0x73, 0x74, 0x6D, 0x64: return 2  // s t m d
        case 0x72, 0x76: return start + 2 < text.count && text[start + 2] == 0x65 ? 3 : 0  // re ve
        case 0x6C: return start + 2 < text.count && text[start + 2] == 0x6C ? 3 : 0  // ll
        default: return 0
        }
    }
}
