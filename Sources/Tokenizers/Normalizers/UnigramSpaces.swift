/// The normalization of a Unigram model in a GGUF file: the charsmap rewrites the text from the left, the longest rule first,
/// and spaces become U+2581. With `removes_extra_spaces` each word has one mark in front and no other space is left.
struct UnigramSpaces: Normalizer {
    static let typeName = "UnigramSpaces"
    private let charsmap: Charsmap?
    private let addsPrefix: Bool
    private let removesExtraSpaces: Bool

    init(_ json: ComponentJSON) throws {
        charsmap = json.value["precompiled_charsmap"] == nil ? nil : try Charsmap(json, "precompiled_charsmap")
        addsPrefix = try json.bool("adds_prefix")
        removesExtraSpaces = try json.bool("removes_extra_spaces")
    }

    func normalize(_ text: inout NormalizedText) {
        let old = text.explicitSpans()
        var bytes: [UInt8] = []
        var spans: [Span] = []
        bytes.reserveCapacity(text.bytes.count * 2)
        spans.reserveCapacity(text.bytes.count * 2)
        func append(_ byte: UInt8, _ span: Span) {
            bytes.append(byte)
            spans.append(span)
        }
        var hasPrefix = false
        var isInWord = false
        text.bytes.withUnsafeBufferPointer { source in
            var index = 0
            while index < source.count {
                let rest = UnsafeBufferPointer(rebasing: source[index...])
                var part = UnsafeBufferPointer(rebasing: rest.prefix(UTF8Bytes.scalar(rest, at: 0).length))
                var length = part.count
                if let (replacement, count) = charsmap?.replacement(of: rest, longest: true) { (part, length) = (replacement, count) }
                let span = Span(start: old[index].start, end: old[index + length - 1].end)
                for byte in part {
                    if byte != 0x20 {
                        if !isInWord {
                            isInWord = true
                            if removesExtraSpaces || (addsPrefix && !hasPrefix) {
                                for mark in SpaceMark.bytes { append(mark, span) }
                                hasPrefix = true
                            }
                        }
                        append(byte, span)
                    } else {
                        isInWord = false
                        if !removesExtraSpaces { for mark in SpaceMark.bytes { append(mark, span) } }
                    }
                }
                index += length
            }
        }
        text.bytes = bytes
        text.spans = spans
    }
}
