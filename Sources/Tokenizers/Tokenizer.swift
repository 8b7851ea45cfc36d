import Foundation

/// A tokenizer: text to token ids and back, equal to Hugging Face `tokenizers` on the same file.
///
/// A value is immutable and cheap to copy; any number of threads may use it.
public struct Tokenizer: Sendable {
    let pipeline: Pipeline
    private let bytes: TokenizerBytes
    /// The settings of the tokenizer's own file. They are applied only when you pass them on.
    public let truncation: Truncation?
    public let padding: Padding?
    /// What `tokenizer_config.json` and `special_tokens_map.json` say, where there are such files.
    public let settings: TokenizerSettings

    // MARK: - Reading

    /// Reads a `tokenizer.json`, a BERT `vocab.txt`, a SentencePiece `.model`, or a folder with a `tokenizer.json`, a `vocab.txt` or `vocab.json` with
    /// `merges.txt`; from a folder also `tokenizer_config.json` and `special_tokens_map.json`.
    public init(contentsOf url: URL) throws {
        try self.init(compiled: TokenizerBytes(TokenizerFiles.compile(url)))
    }

    /// Reads the text of a `tokenizer.json`.
    public init(tokenizerJSON: UnsafeRawBufferPointer) throws {
        let compiled = try tokenizerJSON.withMemoryRebound(to: UInt8.self) {
            try TokenizerCompiler(tokenizerJSON: $0).compile()
        }
        try self.init(compiled: TokenizerBytes(compiled))
    }

    /// Reads the text of a `tokenizer.json`.
    public init(tokenizerJSON: Data) throws {
        self = try tokenizerJSON.withUnsafeBytes { try Tokenizer(tokenizerJSON: $0) }
    }

    /// Opens a compiled tokenizer in place.
    public init(compiled: TokenizerBytes) throws {
        bytes = compiled
        let reader = try CompiledReader(compiled)
        let value = try JSONValue.parse(try reader.required(.configuration).array)
        guard value.isObject else { throw TokenizerError.malformedCompiled(reason: "the configuration is no object") }
        let json = ComponentJSON(value, path: "tokenizer.json", blobs: reader.blobs)
        pipeline = try Pipeline(json, reader: reader)
        truncation = try json.optionalComponent("truncation").map(Truncation.init)
        padding = try json.optionalComponent("padding").map(Padding.init)
        settings = try TokenizerSettings(json, table: pipeline.table)
    }

    /// The compiled form, which `init(compiled:)` opens.
    public func compiled() -> [UInt8] { Array(bytes.buffer) }

    // MARK: - Encoding

    /// Encodes a text, or a pair of texts. `addSpecialTokens` puts the model's special tokens around it. Special tokens that are
    /// written in the text become their ids; without `parseSpecialTokens` they are text like any other (for text of a user).
    public func encode(
        _ text: String, pair: String? = nil, addSpecialTokens: Bool = true, parseSpecialTokens: Bool = true,
        truncation: Truncation? = nil, padding: Padding? = nil
    ) throws -> Encoding {
        try encode(
            TokenizerInput(text, pair: pair), addSpecialTokens: addSpecialTokens, parseSpecialTokens: parseSpecialTokens,
            truncation: truncation, padding: padding)
    }

    /// Encodes one input.
    public func encode(
        _ input: TokenizerInput, addSpecialTokens: Bool = true, parseSpecialTokens: Bool = true, truncation: Truncation? = nil,
        padding: Padding? = nil
    ) throws -> Encoding {
        var encodings = [try unpadded(input, addSpecialTokens, parseSpecialTokens, truncation)]
        try padding?.apply(to: &encodings)
        return encodings[0]
    }

    /// Encodes words that are cut already. Offsets are then relative to each word.
    public func encode(
        pretokenized words: [String], pair: [String]? = nil, addSpecialTokens: Bool = true, truncation: Truncation? = nil,
        padding: Padding? = nil
    ) throws -> Encoding {
        try encode(
            TokenizerInput(words: words, pair: pair), addSpecialTokens: addSpecialTokens, truncation: truncation,
            padding: padding)
    }

    /// Encodes several inputs, padded as one batch.
    public func encodeBatch(
        _ inputs: [TokenizerInput], addSpecialTokens: Bool = true, truncation: Truncation? = nil, padding: Padding? = nil
    ) throws -> [Encoding] {
        var encodings = try inputs.map { try unpadded($0, addSpecialTokens, true, truncation) }
        try padding?.apply(to: &encodings)
        return encodings
    }

    private func unpadded(
        _ input: TokenizerInput, _ addSpecialTokens: Bool, _ parseSpecialTokens: Bool, _ truncation: Truncation?
    ) throws -> Encoding {
        let parts = try input.parts.enumerated().map { sequence, part in
            switch part {
            case .text(let text): try pipeline.encode(text, sequence: sequence, parsesSpecialTokens: parseSpecialTokens)
            case .words(let words): try pipeline.encode(words: words, sequence: sequence, parsesSpecialTokens: parseSpecialTokens)
            }
        }
        return try pipeline.finish(parts, addSpecialTokens: addSpecialTokens, truncation: truncation)
    }

    // MARK: - Decoding

    /// The text of the ids. Ids outside the vocabulary are skipped.
    public func decode(_ ids: [Int], skipSpecialTokens: Bool = true) throws -> String {
        try decode(tokens: ids.compactMap { pipeline.decodedToken($0, skipSpecialTokens: skipSpecialTokens) })
    }

    func decode(tokens: [[UInt8]]) throws -> String {
        let sink = TextSink()
        let chain = pipeline.decodingChain(into: sink)
        for token in tokens {
            chain.write(token)
            chain.endToken()
        }
        chain.finish()
        return try sink.take()
    }

    /// Decodes ids as they come.
    public func makeDecodeStream(skipSpecialTokens: Bool = true) -> DecodeStream {
        DecodeStream(pipeline, skipSpecialTokens: skipSpecialTokens)
    }

    // MARK: - Vocabulary

    /// The id of a token, nil when there is none. Tokens are compared byte by byte.
    public func id(of token: String) -> Int? { pipeline.table.id(of: Array(token.utf8)).map(Int.init) }

    /// The token of an id, nil when there is none.
    public func token(of id: Int) -> String? {
        UInt32(exactly: id).flatMap(pipeline.table.token).map { String(decoding: $0, as: UTF8.self) }
    }

    /// One more than the highest id: the number of rows that the embedding of a model needs.
    public var vocabularySize: Int {
        max(pipeline.table.vocabulary.idLimit, (pipeline.table.added.tokens.last?.id ?? -1) + 1)
    }

    /// What kind of model cuts the pieces: `WordPiece`, `BPE`, `ScoredBPE`, `Unigram`, `WordLevel` or `MarkedWords`.
    public var modelName: String { type(of: pipeline.model).typeName }

    /// The tokens that were added to the model's vocabulary, in order of id.
    public var addedTokens: [AddedToken] { pipeline.table.added.tokens }
}

/// One text or pair of texts to encode. Bytes that are not valid UTF-8 count as one U+FFFD per maximal invalid subpart
/// (Unicode, table 3-7), and offsets refer to the text with these in place.
public struct TokenizerInput: Sendable {
    enum Part: Sendable {
        case text([UInt8])
        case words([[UInt8]])
    }

    let parts: [Part]

    public init(_ text: String, pair: String? = nil) {
        parts = ([text] + (pair.map { [$0] } ?? [])).map { .text(Array($0.utf8)) }
    }

    /// Words that are cut already.
    public init(words: [String], pair: [String]? = nil) {
        parts = ([words] + (pair.map { [$0] } ?? [])).map { .words($0.map { Array($0.utf8) }) }
    }

    /// Text as bytes.
    public init(utf8 text: [UInt8], pair: [UInt8]? = nil) {
        parts = ([text] + (pair.map { [$0] } ?? [])).map { bytes in
            .text(
                bytes.withUnsafeBufferPointer { UTF8Bytes.firstInvalid($0) == nil ? bytes : UTF8Bytes.repaired($0) })
        }
    }
}
