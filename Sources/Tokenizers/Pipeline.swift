/// The stages of a tokenizer: added tokens, normalizer, pre-tokenizer, model, post-processor, decoder.
final class Pipeline: Sendable {
    let table: TokenTable
    let normalizer: (any Normalizer)?
    let preTokenizer: (any PreTokenizer)?
    let model: any Model
    let postProcessor: (any PostProcessor)?
    let decoder: (any Decoder)?
    /// What tokens stand for where that does not follow from their text alone (GGUF).
    private let pieces: TokenPieces?
    private let workspaces = WorkspacePool()

    init(_ json: ComponentJSON, reader: CompiledReader) throws {
        normalizer = try json.optionalComponent("normalizer").map(Normalizers.read)
        preTokenizer = try json.optionalComponent("pre_tokenizer").map(PreTokenizers.read)
        postProcessor = try json.optionalComponent("post_processor").map(PostProcessors.read)
        decoder = try json.optionalComponent("decoder").map(Decoders.read)
        let vocabulary = try Vocabulary(reader)
        model = try Models.read(json.component("model"), vocabulary: vocabulary, reader: reader)
        let added = json.value["added_tokens"] == nil ? [] : try json.components("added_tokens")
        table = TokenTable(
            vocabulary: vocabulary,
            added: try AddedVocabulary(
                added, vocabulary: vocabulary, normalizer: normalizer,
                order: json.value[Self.orderKey] == nil ? .leftmost : json.choice(Self.orderKey, of: AddedTokenOrder.self)))
        pieces = try json.optionalComponent(TokenPieces.key).map { try TokenPieces($0, vocabulary: vocabulary, reader: reader) }
    }

    static let orderKey = "mlgraph_added_tokens_order"

    // MARK: - Text to tokens

    /// The tokens of one text that is valid UTF-8, without special tokens around it.
    func encode(_ text: [UInt8], sequence: Int, parsesSpecialTokens: Bool) throws -> Encoding {
        var encoding = Encoding(table: table)
        encoding.sources[sequence] = EncodingSource(bytes: text)
        try workspaces.use { workspace in
            try append(
                text, base: 0, word: nil, sequence: sequence, parsesSpecialTokens: parsesSpecialTokens, to: &encoding, workspace)
        }
        return encoding
    }

    /// The tokens of words that are cut already; each word goes through all stages on its own.
    func encode(words: [[UInt8]], sequence: Int, parsesSpecialTokens: Bool) throws -> Encoding {
        var encoding = Encoding(table: table)
        var bytes: [UInt8] = []
        var starts: [Int] = []
        for word in words {
            starts.append(bytes.count)
            bytes += word
        }
        encoding.sources[sequence] = EncodingSource(bytes: bytes, wordStarts: starts)
        try workspaces.use { workspace in
            for (index, word) in words.enumerated() {
                try append(
                    word, base: starts[index], word: index, sequence: sequence, parsesSpecialTokens: parsesSpecialTokens,
                    to: &encoding, workspace)
            }
        }
        return encoding
    }

    private func append(
        _ text: [UInt8], base: Int, word: Int?, sequence: Int, parsesSpecialTokens: Bool, to encoding: inout Encoding,
        _ workspace: ModelWorkspace
    ) throws {
        guard base + text.count < Int(Int32.max) else { throw TokenizerError.input(reason: "the text is longer than 2 GiB") }
        var buffer = try pieces(of: text, table.added.matchers(parsesSpecialTokens: parsesSpecialTokens))
        try preTokenizer?.preTokenize(&buffer)
        encoding.records.reserveCapacity(encoding.records.count + buffer.pieces.count + 8)
        try buffer.bytes.withUnsafeBufferPointer { bytes in
            for (index, piece) in buffer.pieces.enumerated() {
                var record = Encoding.Record(
                    id: 0, typeID: UInt32(sequence), start: 0, end: 0, word: Int32(truncatingIfNeeded: word ?? index),
                    sequence: Int8(sequence), isSpecial: false, isPadding: false, surface: -1, surfaceCount: 0)
                let slice = UnsafeBufferPointer(rebasing: bytes[piece.start..<piece.end])
                if let token = piece.token {
                    record.id = token
                    record.start = UInt32(truncatingIfNeeded: base + Int(buffer.span(at: piece.start).start))
                    record.end = UInt32(truncatingIfNeeded: base + Int(buffer.span(at: piece.end - 1).end))
                    encoding.setSurface(slice, of: &record)
                    encoding.records.append(record)
                    continue
                }
                workspace.tokens.removeAll(keepingCapacity: true)
                try model.tokenize(slice, into: &workspace.tokens, workspace)
                for token in workspace.tokens {
                    let start = Int(token.start)
                    let end = Int(token.end)
                    record.id = token.id
                    record.surface = -1
                    if start < end, end <= slice.count {
                        record.start = UInt32(truncatingIfNeeded: base + Int(buffer.span(at: piece.start + start).start))
                        record.end = UInt32(truncatingIfNeeded: base + Int(buffer.span(at: piece.start + end - 1).end))
                    } else {
                        // Byte tokens of a prefix or suffix lie past the piece; the reference gives their place in it.
                        record.start = UInt32(truncatingIfNeeded: base + min(start, text.count))
                        record.end = UInt32(truncatingIfNeeded: base + min(end, text.count))
                    }
                    if token.isSurface {
                        encoding.setSurface(UnsafeBufferPointer(rebasing: slice[start..<end]), of: &record)
                    }
                    encoding.records.append(record)
                }
            }
        }
    }

    /// The normalized text, cut at the added tokens.
    private func pieces(of text: [UInt8], _ added: AddedVocabulary.Matchers) throws -> PieceBuffer {
        var parts: [(range: Range<Int>, token: AddedToken?)] = []
        if let raw = added.raw, text.withUnsafeBufferPointer({ raw.mayMatch($0) }) {
            text.withUnsafeBufferPointer { bytes in
                raw.split(bytes) { start, end, token in parts.append((start..<end, token)) }
            }
        } else {
            parts.append((0..<text.count, nil))
        }
        if parts.count == 1, parts[0].token == nil {
            var whole = NormalizedText(original: text)
            try normalizer?.normalize(&whole)
            guard let matcher = added.normalized, whole.bytes.withUnsafeBufferPointer({ matcher.mayMatch($0) }) else {
                return PieceBuffer(whole)
            }
            var buffer = PieceBuffer(original: text)
            add(whole, matcher, to: &buffer)
            return buffer
        }
        var buffer = PieceBuffer(original: text)
        for (range, token) in parts where !range.isEmpty {
            var part = NormalizedText(
                bytes: Array(text[range]), spans: nil, base: range.lowerBound, original: text)
            if let token {
                let place = buffer.append(part)
                buffer.pieces.append(
                    Piece(
                        start: place.lowerBound, end: place.upperBound, originalStart: range.lowerBound,
                        token: UInt32(truncatingIfNeeded: token.id)))
            } else {
                try normalizer?.normalize(&part)
                add(part, added.normalized, to: &buffer)
            }
        }
        return buffer
    }

    private func add(_ part: NormalizedText, _ matcher: AddedTokenMatcher?, to buffer: inout PieceBuffer) {
        let place = buffer.append(part)
        guard !part.bytes.isEmpty else { return }
        guard let matcher else {
            buffer.pieces.append(Piece(start: place.lowerBound, end: place.upperBound, originalStart: part.base))
            return
        }
        part.bytes.withUnsafeBufferPointer { bytes in
            matcher.split(bytes) { start, end, token in
                guard start < end else { return }
                let isWhole = start == 0 && end == bytes.count
                buffer.pieces.append(
                    Piece(
                        start: place.lowerBound + start, end: place.lowerBound + end,
                        originalStart: isWhole ? part.base : Int(part.span(at: start).start),
                        token: token.map { UInt32(truncatingIfNeeded: $0.id) }))
            }
        }
    }

    // MARK: - Special tokens and truncation

    /// Truncates one or two encodings, adds special tokens and joins them.
    func finish(_ parts: [Encoding], addSpecialTokens: Bool, truncation: Truncation?) throws -> Encoding {
        var parts = parts
        if let truncation {
            try truncation.check(addedTokenCount: postProcessor?.addedTokenCount(isPair: false) ?? 0)
            let added = addSpecialTokens ? postProcessor?.addedTokenCount(isPair: parts.count > 1) ?? 0 : 0
            let room = truncation.maxLength - added
            if room >= 0 { try truncation.apply(to: &parts, room: room) }
        }
        for index in parts.indices {
            parts[index].setSequenceID(index)
            parts[index].setTypeID(UInt32(index), includingOverflow: false)
        }
        if let postProcessor { parts = postProcessor.process(parts, addSpecialTokens: addSpecialTokens) }
        guard var result = parts.first else { return Encoding(table: table) }
        for part in parts.dropFirst() { result.merge(part) }
        return result
    }

    // MARK: - Tokens to text

    /// The chain of stages that ends in `sink`.
    func decodingChain(into sink: TextSink) -> DecoderSink {
        if let decoder { return decoder.stage(next: sink) }
        return TokenStage(next: sink) { token, index, emit in emit(index > 0 ? [0x20] + token : token) }
    }

    /// The token that decoding writes for an id: nil for ids outside the vocabulary and for special tokens to skip.
    func decodedToken(_ id: Int, skipSpecialTokens: Bool) -> [UInt8]? {
        guard let id = UInt32(exactly: id), let token = table.token(id) else { return nil }
        if let pieces { return pieces.piece(of: id, token, skipSpecialTokens: skipSpecialTokens) }
        if skipSpecialTokens, table.added.specialContents.contains(token) { return nil }
        return table.added.normalizedByID[id] ?? token
    }
}

extension Encoding {
    /// Notes the text of a token if it is not what the vocabulary has.
    fileprivate mutating func setSurface(_ text: UnsafeBufferPointer<UInt8>, of record: inout Record) {
        if table.withToken(record.id, { $0?.elementsEqual(text) ?? false }) { return }
        record.surface = Int32(truncatingIfNeeded: surfaces.count)
        record.surfaceCount = Int32(truncatingIfNeeded: text.count)
        surfaces.append(contentsOf: text)
    }
}
