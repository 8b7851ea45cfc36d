/// Removes white space at the start, the end, or both.
struct StripNormalizer: Normalizer {
    static let typeName = "Strip"
    private let left: Bool
    private let right: Bool

    init(_ json: ComponentJSON) throws {
        left = try json.bool("strip_left")
        right = try json.bool("strip_right")
    }

    func normalize(_ text: inout NormalizedText) {
        let scalars = text.scalars
        func isSpace(_ scalar: UInt32) -> Bool { ScalarTable.shared.has(ScalarTable.whitespace, scalar) }
        let leading = left ? scalars.prefix(while: isSpace).count : 0
        let trailing = right ? scalars.reversed().prefix(while: isSpace).count : 0
        guard leading > 0 || trailing > 0 else { return }
        var changes: [ScalarChange] = []
        if leading + trailing < scalars.count {
            changes = scalars[leading..<(scalars.count - trailing)].map { ScalarChange(scalar: $0, change: 0) }
            changes[changes.count - 1].change = -Int32(truncatingIfNeeded: trailing)
        }
        text.transform(changes, initiallyRemoved: leading)
    }
}
