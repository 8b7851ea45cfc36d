import CUtf8proc

/// The words of a BERT model in a GGUF file, each with U+2581 in front. The clean-up is done here too, because llama.cpp cuts what it
/// cleaned: of a composed character only the first scalar of its decomposition is kept (a Hangul syllable is its first consonant),
/// marks and controls are dropped, and every white space ends a word.
struct MarkedBertWords: PreTokenizer {
    static let typeName = "MarkedBertWords"
    private let lowercases: Bool
    private let stripsAccents: Bool

    init(_ json: ComponentJSON) throws {
        lowercases = try json.bool("lowercase")
        stripsAccents = try json.bool("strip_accents")
    }

    func preTokenize(_ buffer: inout PieceBuffer) throws {
        try clean(&buffer)
        let table = ScalarTable.shared
        try buffer.split { piece, keep in
            var start = 0
            var index = 0
            while index < piece.count {
                let (scalar, length) = UTF8Bytes.scalar(piece, at: index)
                let entry = table[scalar]
                if entry & (ScalarTable.whitespace | ScalarTable.punctuation | ScalarTable.bertIdeograph) != 0 {
                    keep(start, index)
                    start = index + length
                    if entry & ScalarTable.whitespace == 0 { keep(index, start) }
                }
                index += length
            }
            keep(start, piece.count)
        }
        let words = buffer
        try buffer.rewrite { piece, bytes, writer in
            let first = words.span(at: piece.start)
            for byte in SpaceMark.bytes { writer.append(byte, first) }
            for index in 0..<bytes.count { writer.append(bytes[index], words.span(at: piece.start + index)) }
        }
    }

    private func clean(_ buffer: inout PieceBuffer) throws {
        let table = ScalarTable.shared
        let old = buffer
        var output: [UInt8] = []
        try buffer.rewrite { piece, bytes, writer in
            var index = 0
            while index < bytes.count {
                var (scalar, length) = UTF8Bytes.scalar(bytes, at: index)
                let span = old.span(at: piece.start + index)
                index += length
                if stripsAccents { scalar = Self.base(of: scalar) }
                let entry = table[scalar]
                if entry & ScalarTable.whitespace == 0 {
                    if scalar == 0 || scalar == 0xFFFD || entry & ScalarTable.bertControl != 0 { continue }
                    if stripsAccents, entry & ScalarTable.classMask == UInt16(GeneralClass.mark.rawValue) { continue }
                    if lowercases { scalar = LowercaseMap.lowercase(scalar) }
                }
                output.removeAll(keepingCapacity: true)
                UTF8Bytes.append(scalar, to: &output)
                for byte in output { writer.append(byte, span) }
            }
        }
    }

    /// The first scalar of the canonical decomposition.
    private static func base(of scalar: UInt32) -> UInt32 {
        if scalar < 0xC0 { return scalar }
        return withUnsafeTemporaryAllocation(of: Int32.self, capacity: 32) { buffer in
            var lastClass: Int32 = 0
            let count = utf8proc_decompose_char(
                Int32(bitPattern: scalar), buffer.baseAddress, buffer.count, utf8proc_option_t(UInt32(UTF8PROC_DECOMPOSE.rawValue)),
                &lastClass)
            return count >= 1 && count <= buffer.count ? UInt32(bitPattern: buffer[0]) : scalar
        }
    }
}
