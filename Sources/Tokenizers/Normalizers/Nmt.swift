/// The clean-up of SentencePiece's `nmt` rules: drops controls, turns other spaces and joiners into spaces.
struct Nmt: Normalizer {
    static let typeName = "Nmt"
    init(_ json: ComponentJSON) {}

    func normalize(_ text: inout NormalizedText) {
        text.filter { scalar in
            switch scalar {
            case 0x1...0x8, 0xB, 0xE...0x1F, 0x7F, 0x8F, 0x9F: false
            default: true
            }
        }
        text.map { scalar in
            switch scalar {
            case 0x9, 0xA, 0xC, 0xD, 0x1680, 0x200B...0x200F, 0x2028, 0x2029, 0x2581, 0xFEFF, 0xFFFD: 0x20
            default: scalar
            }
        }
    }
}
