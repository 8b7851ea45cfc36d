/// The Unicode normalization forms (UAX #15).
struct NFC: Normalizer {
    static let typeName = "NFC"
    init(_ json: ComponentJSON) {}
    func normalize(_ text: inout NormalizedText) { text.normalize(compatibility: false, composes: true) }
}

struct NFD: Normalizer {
    static let typeName = "NFD"
    init(_ json: ComponentJSON) {}
    func normalize(_ text: inout NormalizedText) { text.normalize(compatibility: false, composes: false) }
}

struct NFKC: Normalizer {
    static let typeName = "NFKC"
    init(_ json: ComponentJSON) {}
    func normalize(_ text: inout NormalizedText) { text.normalize(compatibility: true, composes: true) }
}

struct NFKD: Normalizer {
    static let typeName = "NFKD"
    init(_ json: ComponentJSON) {}
    func normalize(_ text: inout NormalizedText) { text.normalize(compatibility: true, composes: false) }
}

extension NormalizedText {
    mutating func normalize(compatibility: Bool, composes: Bool) {
        if isASCII { return }
        let parts = UnicodeNormalization.decompose(scalars, compatibility: compatibility)
        transform(composes ? UnicodeNormalization.compose(parts) : parts)
    }
}
