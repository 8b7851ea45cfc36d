/// Turns each byte into its visible letter, as the ByteLevel pre-tokenizer does.
struct ByteLevelNormalizer: Normalizer {
    static let typeName = "ByteLevel"
    init(_ json: ComponentJSON) {}

    func normalize(_ text: inout NormalizedText) {
        let spans = text.explicitSpans()
        var newBytes: [UInt8] = []
        var newSpans: [Span] = []
        newBytes.reserveCapacity(text.bytes.count * 2)
        newSpans.reserveCapacity(text.bytes.count * 2)
        for (byte, span) in zip(text.bytes, spans) {
            UTF8Bytes.append(ByteAlphabet.letter(of: byte), to: &newBytes)
            while newSpans.count < newBytes.count { newSpans.append(span) }
        }
        text.bytes = newBytes
        text.spans = newSpans
    }
}

/// The visible letter that stands for each byte in byte-level vocabularies: printable Latin-1 stands for itself, the
/// other bytes in order for U+0100 and on.
enum ByteAlphabet {
    private static let letters: [UInt32] = {
        var next: UInt32 = 0x100
        return (UInt32(0)..<256).map { byte in
            switch byte {
            case 0x21...0x7E, 0xA1...0xAC, 0xAE...0xFF: return byte
            default:
                next += 1
                return next - 1
            }
        }
    }()

    private static let bytesOfLetters: [UInt8?] = {
        var table = [UInt8?](repeating: nil, count: 0x200)
        for (byte, letter) in letters.enumerated() { table[Int(letter)] = UInt8(byte) }
        return table
    }()

    @inline(__always)
    static func letter(of byte: UInt8) -> UInt32 { letters[Int(byte)] }

    @inline(__always)
    static func byte(of letter: UInt32) -> UInt8? { letter < 0x200 ? bytesOfLetters[Int(letter)] : nil }

    /// The bytes that a token's letters stand for, nil when it has any other letter.
    static func bytes(of token: [UInt8]) -> [UInt8]? {
        token.withUnsafeBufferPointer { buffer in
            var result: [UInt8] = []
            result.reserveCapacity(buffer.count)
            var index = 0
            while index < buffer.count {
                let (scalar, length) = UTF8Bytes.scalar(buffer, at: index)
                guard let byte = byte(of: scalar) else { return nil }
                result.append(byte)
                index += length
            }
            return result
        }
    }
}
