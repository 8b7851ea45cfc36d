/// Puts a text in front of every piece between added tokens that is not empty.
struct Prepend: Normalizer {
    static let typeName = "Prepend"
    private let prefix: [UInt8]

    init(_ json: ComponentJSON) throws { prefix = try json.bytes("prepend") }

    func normalize(_ text: inout NormalizedText) { text.prepend(prefix) }
}
