/// Splits where the script changes. Kana and the long-vowel mark count as Han; a space goes with what comes before it.
struct UnicodeScripts: PreTokenizer {
    static let typeName = "UnicodeScripts"
    init(_ json: ComponentJSON) {}

    func preTokenize(_ buffer: inout PieceBuffer) throws {
        try buffer.split { piece, keep in
            var start = -1
            var last: UInt8?
            var index = 0
            while index < piece.count {
                let (scalar, length) = UTF8Bytes.scalar(piece, at: index)
                // nil: belongs to every script.
                let script: UInt8? =
                    scalar == 0x30FC ? ScriptTable.han : scalar == 0x20 ? nil : ScriptTable.script(of: scalar)
                if let script, script != 0 {
                    if script != last {
                        if start >= 0 { keep(start, index) }
                        start = index
                    }
                    last = script
                }
                index += length
            }
            if start >= 0 { keep(start, piece.count) }
        }
    }
}
