/// Makes all tokens one token.
struct Fuse: Decoder {
    static let typeName = "Fuse"
    init(_ json: ComponentJSON) {}

    func stage(next: DecoderSink) -> DecoderSink { FuseStage(next: next) }
}

private final class FuseStage: DecoderSink {
    private let next: DecoderSink

    init(next: DecoderSink) { self.next = next }

    override func fail(_ error: any Error) { next.fail(error) }

    override func write(_ bytes: [UInt8]) { next.write(bytes) }

    override func finish() {
        next.endToken()
        next.finish()
    }
}
