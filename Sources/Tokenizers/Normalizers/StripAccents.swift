/// Removes all marks (category M, of an old Unicode version).
struct StripAccents: Normalizer {
    static let typeName = "StripAccents"
    init(_ json: ComponentJSON) {}

    func normalize(_ text: inout NormalizedText) {
        if text.isASCII { return }
        text.filter { !ScalarTable.shared.has(ScalarTable.accent, $0) }
    }
}
