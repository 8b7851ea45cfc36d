/// The pieces are runs of word characters and runs of other characters; white space is dropped.
struct Whitespace: PreTokenizer {
    static let typeName = "Whitespace"
    init(_ json: ComponentJSON) {}

    func preTokenize(_ buffer: inout PieceBuffer) throws {
        let table = ScalarTable.shared
        try buffer.split { piece, keep in
            var start = 0
            var previous = 0  // 0 white space, 1 word, 2 other
            var index = 0
            while index < piece.count {
                let (scalar, length) = UTF8Bytes.scalar(piece, at: index)
                let kind = table.isRustWord(scalar) ? 1 : table.has(ScalarTable.whitespace, scalar) ? 0 : 2
                if kind != previous {
                    if previous != 0 { keep(start, index) }
                    start = index
                    previous = kind
                }
                index += length
            }
            if previous != 0 { keep(start, piece.count) }
        }
    }
}

/// Splits at white space, which is dropped.
struct WhitespaceSplit: PreTokenizer {
    static let typeName = "WhitespaceSplit"
    init(_ json: ComponentJSON) {}

    func preTokenize(_ buffer: inout PieceBuffer) throws {
        let table = ScalarTable.shared
        try buffer.split { piece, keep in
            var start = 0
            var index = 0
            while index < piece.count {
                let (scalar, length) = UTF8Bytes.scalar(piece, at: index)
                if table.has(ScalarTable.whitespace, scalar) {
                    keep(start, index)
                    start = index + length
                }
                index += length
            }
            keep(start, piece.count)
        }
    }
}
