/// Joins SentencePiece's pieces: U+2581 is a space, the space that encoding added goes, control pieces give nothing and the unknown
/// piece its sign. Bytes that are not valid UTF-8 become one U+FFFD each.
struct SentencePieceDecoder: Decoder {
    static let typeName = "SentencePiece"
    private let stripsFirstSpace: Bool
    private let stripsAllFirstSpaces: Bool
    private let unknown: [UInt8]
    private let unknownText: [UInt8]
    private let control: Set<[UInt8]>

    init(_ json: ComponentJSON) throws {
        stripsFirstSpace = try json.bool("strips_first_space")
        stripsAllFirstSpaces = try json.bool("strips_all_first_spaces")
        unknown = try json.bytes("unknown")
        unknownText = try json.bytes("unknown_text")
        control = Set(try json.array("control").compactMap(\.bytes))
    }

    func stage(next: DecoderSink) -> DecoderSink {
        var run: [UInt8] = []
        var isAtStart = stripsFirstSpace
        func flush(_ emit: ([UInt8]) -> Void) {
            if run.isEmpty { return }
            var index = 0
            run.withUnsafeBufferPointer { bytes in
                while index < bytes.count {
                    let (_, length) = UTF8Bytes.scalar(bytes, at: index)
                    emit(length == 1 && bytes[index] >= 0x80 ? [0xEF, 0xBF, 0xBD] : Array(bytes[index..<(index + length)]))
                    index += length
                }
            }
            run.removeAll(keepingCapacity: true)
            isAtStart = false
        }
        return TokenStage(next: next, end: flush) { token, _, emit in
            if let byte = ByteToken.byte(of: token) {
                run.append(byte)
                return
            }
            flush(emit)
            if control.contains(token) { return }
            if token == unknown {
                isAtStart = false
                return emit(unknownText)
            }
            var text = token
            if isAtStart {
                if text.starts(with: SpaceMark.bytes) {
                    text.removeFirst(SpaceMark.bytes.count)
                    isAtStart = stripsAllFirstSpaces && text.isEmpty
                } else {
                    isAtStart = false
                }
            }
            emit(text.replacing(SpaceMark.bytes, with: [0x20]))
        }
    }
}
