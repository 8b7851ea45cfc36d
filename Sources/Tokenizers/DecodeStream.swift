/// Decodes ids one by one. What cannot be final yet is held back: an incomplete UTF-8 sequence, a run of byte tokens,
/// whatever the decoder needs the next token for. The pieces together are what `Tokenizer.decode` gives.
public final class DecodeStream {
    private let pipeline: Pipeline
    private let skipSpecialTokens: Bool
    private let sink = TextSink()
    private let chain: DecoderSink

    init(_ pipeline: Pipeline, skipSpecialTokens: Bool) {
        self.pipeline = pipeline
        self.skipSpecialTokens = skipSpecialTokens
        chain = pipeline.decodingChain(into: sink)
    }

    /// The text that became final with this id; often empty. Ids outside the vocabulary give nothing. Throws when a pattern
    /// of the decoder needs too many steps.
    public func emit(_ id: Int) throws -> String {
        guard let token = pipeline.decodedToken(id, skipSpecialTokens: skipSpecialTokens) else { return "" }
        chain.write(token)
        chain.endToken()
        return try sink.take()
    }

    /// The rest of the text. The stream is used up then.
    public func flush() throws -> String {
        chain.finish()
        return try sink.take()
    }
}
