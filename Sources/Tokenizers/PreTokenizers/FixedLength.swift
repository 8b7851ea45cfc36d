/// Pieces of a fixed number of scalars; the last one may be shorter.
struct FixedLength: PreTokenizer {
    static let typeName = "FixedLength"
    private let length: Int

    init(_ json: ComponentJSON) throws {
        length = try json.optionalCount("length") ?? 5
        guard length > 0 else { throw json.invalid("length", "expected at least 1") }
    }

    func preTokenize(_ buffer: inout PieceBuffer) throws {
        try buffer.split { piece, keep in
            var start = 0
            var count = 0
            var index = 0
            while index < piece.count {
                index += UTF8Bytes.scalar(piece, at: index).length
                count += 1
                if count == length {
                    keep(start, index)
                    start = index
                    count = 0
                }
            }
            keep(start, piece.count)
        }
    }
}
