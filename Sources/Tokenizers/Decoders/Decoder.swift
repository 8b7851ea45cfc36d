/// Turns tokens back into text. A decoder makes one stage of a chain that tokens stream through, so that decoding
/// all at once and token by token are the same work.
protocol Decoder: Sendable {
    static var typeName: String { get }
    init(_ json: ComponentJSON) throws
    func stage(next: DecoderSink) -> DecoderSink
}

enum Decoders {
    /// Every decoder that a tokenizer file can name.
    static let all: [any Decoder.Type] = [
        WordPieceDecoder.self,
        ByteLevel.self,
        Metaspace.self,
        BPEDecoder.self,
        ByteFallback.self,
        Fuse.self,
        StripDecoder.self,
        ReplaceDecoder.self,
        CTC.self,
        PieceDecoder.self,
        SentencePieceDecoder.self,
        DecoderSequence.self,
    ]

    static func read(_ json: ComponentJSON) throws -> any Decoder {
        let name = try json.type()
        guard let type = all.first(where: { $0.typeName == name }) else { throw json.unsupported("the decoder \(name)") }
        return try type.init(json)
    }
}

/// Several decoders, one after the other.
struct DecoderSequence: Decoder {
    static let typeName = "Sequence"
    private let decoders: [any Decoder]

    init(_ json: ComponentJSON) throws { decoders = try json.components("decoders").map(Decoders.read) }

    func stage(next: DecoderSink) -> DecoderSink { decoders.reversed().reduce(next) { $1.stage(next: $0) } }
}

/// Where a stage writes. A token comes as any number of `write` and one `endToken`; `finish` ends the text.
class DecoderSink {
    func write(_ bytes: [UInt8]) {}
    func endToken() {}
    func finish() {}
    /// Passes an error on to the end of the chain.
    func fail(_ error: any Error) {}
}

/// The end of the chain: collects the text.
final class TextSink: DecoderSink {
    private(set) var bytes: [UInt8] = []
    /// The first error of a stage.
    private var error: (any Error)?

    override func write(_ bytes: [UInt8]) { self.bytes += bytes }

    override func fail(_ error: any Error) { self.error = self.error ?? error }

    /// The text since the last call; throws what a stage failed with.
    func take() throws -> String {
        if let error { throw error }
        let result = String(decoding: bytes, as: UTF8.self)
        bytes.removeAll(keepingCapacity: true)
        return result
    }
}

/// A stage that needs each token as a whole. `body` gets the token, its number, and a function to call with each
/// token that it becomes.
final class TokenStage: DecoderSink {
    typealias Body = (_ token: [UInt8], _ index: Int, _ emit: ([UInt8]) -> Void) -> Void
    private let next: DecoderSink
    private let body: Body
    private let end: (_ emit: ([UInt8]) -> Void) -> Void
    private var token: [UInt8] = []
    private var index = 0

    /// `end` is called before the text ends.
    init(next: DecoderSink, end: @escaping (_ emit: ([UInt8]) -> Void) -> Void = { _ in }, _ body: @escaping Body) {
        self.next = next
        self.body = body
        self.end = end
    }

    private func emit(_ token: [UInt8]) {
        next.write(token)
        next.endToken()
    }

    override func write(_ bytes: [UInt8]) { token += bytes }

    override func endToken() {
        let whole = token
        token.removeAll(keepingCapacity: true)
        body(whole, index, emit)
        index += 1
    }

    override func finish() {
        end(emit)
        next.finish()
    }

    override func fail(_ error: any Error) { next.fail(error) }
}
