/// SentencePiece's normalization: the charsmap rewrites the text from the left, the longest rule first (symbols of the user stay as they
/// are), extra spaces go, a space is added at the start or the end, and spaces become U+2581.
struct SentencePieceNormalizer: Normalizer {
    static let typeName = "SentencePiece"
    private let charsmap: Charsmap?
    private let addsPrefix: Bool
    private let removesExtraSpaces: Bool
    private let marksEnds: Bool
    private let space: [UInt8]
    private let symbols: TokenTrie?

    init(_ json: ComponentJSON) throws {
        charsmap = json.value["precompiled_charsmap"] == nil ? nil : try Charsmap(json, "precompiled_charsmap")
        addsPrefix = try json.bool("adds_prefix")
        removesExtraSpaces = try json.bool("removes_extra_spaces")
        marksEnds = try json.bool("marks_ends")
        space = try json.bool("escapes_spaces") ? SpaceMark.bytes : [0x20]
        let symbols = try json.array("user_defined").compactMap(\.bytes).filter { !$0.isEmpty }
        self.symbols = symbols.isEmpty ? nil : TokenTrieBuilder.trie(symbols, values: symbols.map { _ in 0 })
    }

    /// What the start of a text becomes, and how many of its bytes that takes.
    private func replacement(of rest: UnsafeBufferPointer<UInt8>) -> (part: UnsafeBufferPointer<UInt8>, length: Int) {
        if let end = symbols?.longestPrefix(of: rest, at: 0)?.end { return (UnsafeBufferPointer(rebasing: rest.prefix(end)), end) }
        if let (part, length) = charsmap?.replacement(of: rest, longest: true) { return (part, length) }
        let length = min(UTF8Bytes.scalar(rest, at: 0).length, rest.count)
        return (UnsafeBufferPointer(rebasing: rest.prefix(length)), length)
    }

    func normalize(_ text: inout NormalizedText) {
        let old = text.explicitSpans()
        guard !old.isEmpty else { return }
        var bytes: [UInt8] = []
        var spans: [Span] = []
        text.bytes.withUnsafeBufferPointer { source in
            func span(_ index: Int, _ length: Int) -> Span { Span(start: old[index].start, end: old[index + length - 1].end) }
            func append(_ new: some Sequence<UInt8>, _ span: Span) {
                for byte in new {
                    bytes.append(byte)
                    spans.append(span)
                }
            }
            var index = 0
            if removesExtraSpaces {
                while index < source.count {
                    let (part, length) = replacement(of: UnsafeBufferPointer(rebasing: source[index...]))
                    guard part.elementsEqual([0x20]) else { break }
                    index += length
                }
            }
            guard index < source.count else { return }
            if addsPrefix, !marksEnds { append(space, Span(start: old[index].start, end: old[index].start)) }
            var afterSpace = removesExtraSpaces
            while index < source.count {
                let (part, length) = replacement(of: UnsafeBufferPointer(rebasing: source[index...]))
                let kept = afterSpace ? UnsafeBufferPointer(rebasing: part.drop { $0 == 0x20 }) : part
                for byte in kept { append(byte == 0x20 ? space : [byte], span(index, length)) }
                if let last = kept.last { afterSpace = last == 0x20 }
                if !removesExtraSpaces { afterSpace = false }
                index += length
            }
            if removesExtraSpaces {
                while bytes.count >= space.count, bytes.suffix(space.count).elementsEqual(space) {
                    bytes.removeLast(space.count)
                    spans.removeLast(space.count)
                }
            }
            if addsPrefix, marksEnds, let last = old.last { append(space, Span(start: last.end, end: last.end)) }
        }
        text.bytes = bytes
        text.spans = spans
    }
}
