/// Splits at punctuation marks.
struct Punctuation: PreTokenizer {
    static let typeName = "Punctuation"
    private let behavior: SplitBehavior

    init(_ json: ComponentJSON) throws {
        behavior = json.value["behavior"] == nil ? .isolated : try json.choice("behavior", of: SplitBehavior.self)
    }

    func preTokenize(_ buffer: inout PieceBuffer) throws {
        let table = ScalarTable.shared
        try buffer.split(behavior, scalars: { table.has(ScalarTable.punctuation, $0) })
    }
}

/// Makes numerals pieces, one by one or in runs.
struct Digits: PreTokenizer {
    static let typeName = "Digits"
    private let behavior: SplitBehavior

    init(_ json: ComponentJSON) throws {
        behavior = try json.bool("individual_digits", default: false) ? .isolated : .contiguous
    }

    func preTokenize(_ buffer: inout PieceBuffer) throws {
        let table = ScalarTable.shared
        try buffer.split(behavior, scalars: { table.has(ScalarTable.numeric, $0) })
    }
}

/// Splits at one character, which is dropped.
struct CharDelimiterSplit: PreTokenizer {
    static let typeName = "CharDelimiterSplit"
    private let delimiter: UInt32

    init(_ json: ComponentJSON) throws { delimiter = try json.scalar("delimiter") }

    func preTokenize(_ buffer: inout PieceBuffer) throws {
        try buffer.split(.removed, scalars: { $0 == delimiter })
    }
}

extension PieceBuffer {
    /// Cuts where `isDelimiter` holds for a scalar.
    mutating func split(_ behavior: SplitBehavior, scalars isDelimiter: (UInt32) -> Bool) throws {
        try split(behavior) { piece, matches in
            var start = 0
            var index = 0
            while index < piece.count {
                let (scalar, length) = UTF8Bytes.scalar(piece, at: index)
                if isDelimiter(scalar) {
                    if start < index { matches.append(Match(start, index, false)) }
                    start = index + length
                    matches.append(Match(index, start, true))
                }
                index += length
            }
            if start < piece.count { matches.append(Match(start, piece.count, false)) }
        }
    }
}
