/// Turns runs of tokens `<0x00>` to `<0xFF>` into text; a run that is not valid UTF-8 becomes one U+FFFD per byte.
struct ByteFallback: Decoder {
    static let typeName = "ByteFallback"
    init(_ json: ComponentJSON) {}

    func stage(next: DecoderSink) -> DecoderSink {
        var run: [UInt8] = []
        func flush(_ emit: ([UInt8]) -> Void) {
            if run.isEmpty { return }
            if run.withUnsafeBufferPointer({ UTF8Bytes.firstInvalid($0) }) == nil {
                emit(run)
            } else {
                for _ in run { emit([0xEF, 0xBF, 0xBD]) }
            }
            run.removeAll(keepingCapacity: true)
        }
        return TokenStage(next: next, end: flush) { token, _, emit in
            if let byte = ByteToken.byte(of: token) {
                run.append(byte)
            } else {
                flush(emit)
                emit(token)
            }
        }
    }
}
