/// Splits at white space, which is dropped, and makes each punctuation mark a piece.
struct BertPreTokenizer: PreTokenizer {
    static let typeName = "BertPreTokenizer"
    init(_ json: ComponentJSON) {}

    /// For ASCII: 0 letter, 1 white space, 2 punctuation.
    private static let kinds: [UInt8] = (0..<128).map { kind(of: UInt32($0)) }

    @inline(__always)
    private static func kind(of scalar: UInt32) -> UInt8 {
        let entry = ScalarTable.shared[scalar]
        return entry & ScalarTable.whitespace != 0 ? 1 : entry & ScalarTable.punctuation != 0 ? 2 : 0
    }

    func preTokenize(_ buffer: inout PieceBuffer) throws {
        let kinds = Self.kinds
        let table = ScalarTable.shared
        try buffer.split { piece, keep in
            kinds.withUnsafeBufferPointer { kinds in
                var start = 0
                var index = 0
                while index < piece.count {
                    let byte = piece[index]
                    var length = 1
                    var kind: UInt8
                    if byte < 0x80 {
                        kind = kinds[Int(byte)]
                    } else {
                        let found = UTF8Bytes.scalar(piece, at: index)
                        length = found.length
                        let entry = table[found.scalar]
                        kind = entry & ScalarTable.whitespace != 0 ? 1 : entry & ScalarTable.punctuation != 0 ? 2 : 0
                    }
                    if kind != 0 {
                        keep(start, index)
                        start = index + length
                        if kind == 2 { keep(index, start) }
                    }
                    index += length
                }
                keep(start, piece.count)
            }
        }
    }
}
