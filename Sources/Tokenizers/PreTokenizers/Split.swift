/// Splits at the matches of a pattern, or with `invert` at what lies between them.
struct Split: PreTokenizer {
    static let typeName = "Split"
    private let pattern: TextPattern
    private let behavior: SplitBehavior
    private let isInverted: Bool

    init(_ json: ComponentJSON) throws {
        pattern = try json.pattern()
        behavior = try json.choice("behavior", of: SplitBehavior.self)
        isInverted = try json.bool("invert", default: false)
    }

    func preTokenize(_ buffer: inout PieceBuffer) throws {
        try buffer.split(behavior) { piece, matches in
            try pattern.matches(in: piece, into: &matches)
            if isInverted { for index in matches.indices { matches[index].isMatch.toggle() } }
        }
    }
}
