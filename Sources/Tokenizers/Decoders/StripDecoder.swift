/// Removes up to `start` copies of a character at the start of each token and up to `stop` at its end. (Where the
/// reference panics, because a token is empty or the two overlap, nothing is left.)
struct StripDecoder: Decoder {
    static let typeName = "Strip"
    private let content: [UInt8]
    private let start: Int
    private let stop: Int

    init(_ json: ComponentJSON) throws {
        _ = try json.scalar("content")
        content = try json.bytes("content")
        start = try json.count("start")
        stop = try json.count("stop")
    }

    func stage(next: DecoderSink) -> DecoderSink {
        if stop == 0 { return StripStartStage(next: next, content: content, limit: start) }
        return TokenStage(next: next) { token, _, emit in
            var low = 0
            var removed = 0
            while removed < start, token[low...].starts(with: content) {
                low += content.count
                removed += 1
            }
            var high = token.count
            removed = 0
            while removed < stop, high >= low + content.count,
                token[(high - content.count)..<high].elementsEqual(content)
            {
                high -= content.count
                removed += 1
            }
            emit(Array(token[low..<high]))
        }
    }
}

/// Strips only the start, so that a long token can stream through.
private final class StripStartStage: DecoderSink {
    private let next: DecoderSink
    private let content: [UInt8]
    private let limit: Int
    private var removed = 0
    /// The start of the token, while it may still have something to remove.
    private var held: [UInt8]? = []

    init(next: DecoderSink, content: [UInt8], limit: Int) {
        self.next = next
        self.content = content
        self.limit = limit
    }

    override func fail(_ error: any Error) { next.fail(error) }

    override func write(_ bytes: [UInt8]) {
        guard var start = held else {
            next.write(bytes)
            return
        }
        start += bytes
        while removed < limit, start.count >= content.count, start.starts(with: content) {
            start.removeFirst(content.count)
            removed += 1
        }
        if removed < limit, start.count < content.count, content.starts(with: start) {
            held = start
        } else {
            held = nil
            next.write(start)
        }
    }

    override func endToken() {
        if let start = held { next.write(start) }
        held = []
        removed = 0
        next.endToken()
    }

    override func finish() { next.finish() }
}
