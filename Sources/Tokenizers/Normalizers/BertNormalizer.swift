/// The clean-up of BERT: drops controls, separates ideographs, strips accents, lower-cases.
struct BertNormalizer: Normalizer {
    static let typeName = "BertNormalizer"
    private let cleansText: Bool
    private let separatesIdeographs: Bool
    private let stripsAccents: Bool
    private let lowercases: Bool

    init(_ json: ComponentJSON) throws {
        cleansText = try json.bool("clean_text", default: true)
        separatesIdeographs = try json.bool("handle_chinese_chars", default: true)
        lowercases = try json.bool("lowercase", default: true)
        stripsAccents = try json.optionalBool("strip_accents") ?? lowercases
    }

    func normalize(_ text: inout NormalizedText) {
        if normalizeASCII(&text) { return }
        let table = ScalarTable.shared
        if cleansText {
            text.filter { !table.has(ScalarTable.bertControl, $0) }
            text.map { table.has(ScalarTable.whitespace, $0) ? 0x20 : $0 }
        }
        if separatesIdeographs, text.scalars.contains(where: { table.has(ScalarTable.bertIdeograph, $0) }) {
            var changes: [ScalarChange] = []
            for scalar in text.scalars {
                if table.has(ScalarTable.bertIdeograph, scalar) {
                    changes.append(ScalarChange(scalar: 0x20, change: 0))
                    changes.append(ScalarChange(scalar: scalar, change: 1))
                    changes.append(ScalarChange(scalar: 0x20, change: 1))
                } else {
                    changes.append(ScalarChange(scalar: scalar, change: 0))
                }
            }
            text.transform(changes)
        }
        if stripsAccents {
            text.normalize(compatibility: false, composes: false)
            text.filter { !table.has(ScalarTable.nonspacingMark, $0) }
        }
        if lowercases { text.lowercase() }
    }

    /// ASCII without controls changes in place. Returns false for anything else, with the text unchanged.
    private func normalizeASCII(_ text: inout NormalizedText) -> Bool {
        let isPlain = text.bytes.withUnsafeBufferPointer { buffer in
            guard UTF8Bytes.isASCII(buffer) else { return false }
            if cleansText {
                for byte in buffer where byte < 0x20 || byte == 0x7F {
                    if byte != 0x09 && byte != 0x0A && byte != 0x0D { return false }
                }
            }
            return true
        }
        guard isPlain else { return false }
        text.bytes.withUnsafeMutableBufferPointer { buffer in
            for index in buffer.indices {
                let byte = buffer[index]
                if lowercases, byte &- 0x41 < 26 {
                    buffer[index] = byte | 0x20
                } else if cleansText, byte < 0x20 {
                    buffer[index] = 0x20
                }
            }
        }
        return true
    }
}
