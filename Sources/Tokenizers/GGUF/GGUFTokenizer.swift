import Foundation

/// Makes the compiled tokenizer of a GGUF vocabulary: the defaults of its kind, and the stages that encode as llama.cpp does.
struct GGUFTokenizer {
    private let source: GGUFVocabulary
    private let types: GGUFTokenTypes
    private let kind: Kind
    /// Nil for the kinds that are no byte-level BPE.
    private let words: GGUFWordPatterns?

    private enum Kind {
        case bytePairs, sentencePiece, wordPiece, unigram
    }

    init(_ source: GGUFVocabulary) throws {
        self.source = source
        guard !source.tokens.isEmpty else { throw Self.invalid("tokens", "empty or missing") }
        guard source.tokens.count <= Int(VocabularySource.maximumID) else { throw Self.invalid("tokens", "more than \(VocabularySource.maximumID)") }
        for (id, token) in source.tokens.enumerated() where token.withUnsafeBufferPointer({ UTF8Bytes.firstInvalid($0) }) != nil {
            throw Self.invalid("tokens[\(id)]", "not valid UTF-8")
        }
        types = try GGUFTokenTypes(source)
        switch source.model {
        case "gpt2", "gemma4":
            kind = .bytePairs
            let name = source.model == "gemma4" ? "gemma4" : source.pre ?? "default"
            guard let words = GGUFWordPatterns.named(name) else {
                throw TokenizerError.unsupported(path: "tokenizer.ggml.pre", reason: "\(name) is not known; convert the model from its original files")
            }
            self.words = words
        case "llama": (kind, words) = (.sentencePiece, nil)
        case "bert": (kind, words) = (.wordPiece, nil)
        case "t5": (kind, words) = (.unigram, nil)
        default:
            throw TokenizerError.unsupported(
                path: "tokenizer.ggml.model", reason: "\(source.model); supported are gpt2, llama, bert, t5 and gemma4")
        }
    }

    private static func invalid(_ key: String, _ reason: String) -> TokenizerError {
        .invalid(path: "tokenizer.ggml." + key, reason: reason)
    }

    func compile() throws -> [UInt8] {
        var vocabulary = VocabularySource()
        for (id, token) in source.tokens.enumerated() {
            let type = types.types[id]
            let isHidden = kind == .unigram && type != .normal && type != .userDefined && type != .unused
            vocabulary.add(id: UInt32(truncatingIfNeeded: id), token.isEmpty ? Array("[EMPTY_\(id)]".utf8) : token, isHidden: isHidden)
        }
        let (bos, eos, separator) = try specialTokens()
        return try TokenizerCompiler(
            model: try model(), members: members(bos: bos, eos: eos, separator: separator), vocabulary: vocabulary,
            merges: try merges(), scores: try scores(), tokenTypes: types.types.map(\.rawValue)
        ).compile(allowsEqualTokens: true)
    }

    // MARK: - Model

    private func model() throws -> [(String, [UInt8])] {
        switch kind {
        case .bytePairs:
            return [
                ("type", text(BPE.typeName)), ("ignore_merges", flag(words?.ignoresMerges ?? false)), ("mlgraph_keeps_gaps", flag(true)),
                ("byte_fallback", flag(words?.isMarkedText ?? false)),
            ]
        case .sentencePiece: return [("type", text(ScoredBPE.typeName)), ("unk_id", number(try id(source.unknownID, default: 0)))]
        case .wordPiece:
            guard let unknown = try id(source.unknownID, default: 100) else { throw Self.invalid("unknown_token_id", "missing") }
            return [
                ("type", text(WordPiece.typeName)), ("unk_token", JSONValue.quoted(source.tokens[unknown])),
                ("continuing_subword_prefix", text("")), ("max_input_chars_per_word", number(Int(Int32.max))),
            ]
        case .unigram:
            let normal = source.tokens.indices.filter { types.types[$0] == .normal && source.scores.indices.contains($0) }
            let lowest = normal.map { source.scores[$0] }.min() ?? 0
            return [
                ("type", text(Unigram.typeName)), ("unk_id", number(try id(source.unknownID, default: 2))),
                ("mlgraph_unk_score", Array("\(Double(lowest - 10))".utf8)),
            ]
        }
    }

    private func scores() throws -> [Double]? {
        guard kind == .sentencePiece || kind == .unigram else { return nil }
        let count = source.tokens.count
        guard source.scores.isEmpty || source.scores.count >= count else {
            throw Self.invalid("scores", "\(source.scores.count) for \(count) tokens")
        }
        return try (0..<count).map { id in
            let score = source.scores.indices.contains(id) ? source.scores[id] : 0
            guard score.isFinite else { throw Self.invalid("scores[\(id)]", "not a finite number") }
            return kind == .unigram && types.types[id] == .userDefined ? 0 : Double(score)
        }
    }

    private func merges() throws -> MergeSource {
        var result = MergeSource()
        guard kind == .bytePairs else { return result }
        // Of equal pairs the first one counts.
        var seen: Set<[UInt8]> = []
        seen.reserveCapacity(source.merges.count)
        for (rank, line) in source.merges.enumerated() {
            // A token may begin with a space.
            guard let space = line.dropFirst().firstIndex(of: 0x20), space + 1 < line.count else {
                throw Self.invalid("merges[\(rank)]", "expected two tokens and a space between")
            }
            if seen.insert(line).inserted { result.add(Array(line[..<space]), Array(line[(space + 1)...])) }
        }
        return result
    }

    // MARK: - Other stages

    private func members(bos: Int?, eos: Int?, separator: Int?) throws -> [(String, [UInt8])] {
        var members: [(String, [UInt8])] = [
            ("added_tokens", try addedTokens()), (Pipeline.orderKey, text(AddedTokenOrder.longestFirst.rawValue)),
            (TokenPieces.key, TokenizerFiles.object([("text", text(writing.rawValue))])),
            (
                "decoder",
                component(
                    PieceDecoder.typeName,
                    [("strips_first_space", flag(addsSpacePrefix)), ("cleans_spaces", flag(kind == .wordPiece || words?.cleansSpaces == true))])
            ), (TokenizerSettings.key, settings(bos: bos, eos: eos, separator: separator)),
        ]
        if let normalizer { members.append(("normalizer", normalizer)) }
        if let preTokenizer { members.append(("pre_tokenizer", preTokenizer)) }
        if let template = template(bos: bos, eos: eos, separator: separator) { members.append(("post_processor", template)) }
        return members
    }

    private var writing: TokenPieces.Writing { kind == .bytePairs && words?.isMarkedText == false ? .byteLevel : .marked }

    private var addsSpacePrefix: Bool { source.addsSpacePrefix ?? (kind == .sentencePiece) }

    private var normalizer: [UInt8]? {
        let marks = component(
            "Replace", [("pattern", TokenizerFiles.object([("String", text(" "))])), ("content", JSONValue.quoted(SpaceMark.bytes))])
        switch kind {
        case .bytePairs: return words?.isMarkedText == true ? marks : nil
        case .wordPiece: return nil
        case .sentencePiece:
            guard addsSpacePrefix else { return marks }
            let prefix = component("Prepend", [("prepend", JSONValue.quoted(SpaceMark.bytes))])
            return component("Sequence", [("normalizers", list([prefix, marks]))])
        case .unigram:
            var settings = [("adds_prefix", flag(addsSpacePrefix)), ("removes_extra_spaces", flag(source.removesExtraWhitespace ?? false))]
            if !source.charsmap.isEmpty { settings.append(("precompiled_charsmap", text(Data(source.charsmap).base64EncodedString()))) }
            return component(UnigramSpaces.typeName, settings)
        }
    }

    private var preTokenizer: [UInt8]? {
        if kind == .wordPiece {
            let lowercases = source.lowercases ?? true
            return component(
                MarkedBertWords.typeName,
                [("lowercase", flag(lowercases)), ("strip_accents", flag(source.stripsAccents ?? lowercases))])
        }
        guard let words else { return nil }
        var patterns = words.patterns
        var steps: [[UInt8]] = []
        let endsWithGPT2 = !words.isMarkedText && patterns.last == GGUFWordPatterns.gpt2
        if endsWithGPT2 { patterns.removeLast() }
        for pattern in patterns {
            steps.append(
                component(
                    "Split",
                    [("pattern", TokenizerFiles.object([("Regex", text(pattern))])), ("behavior", text("Isolated")), ("invert", flag(false))]))
        }
        if !words.isMarkedText {
            steps.append(
                component(
                    ByteLevel.typeName,
                    [("add_prefix_space", flag(false)), ("trim_offsets", flag(false)), ("use_regex", flag(endsWithGPT2))]))
        }
        return component("Sequence", [("pretokenizers", list(steps))])
    }

    private func addedTokens() throws -> [UInt8] {
        let name = (source.modelName ?? "").lowercased()
        let stripsRight = name.contains("phi-3") || name.contains("phi3")
        let keepsRight: Set<String> = ["<unk>", "<s>", "<|endoftext|>"]
        let pre = source.pre ?? ""
        var stripsLeft = ""
        if ["jina-v2-de", "jina-v2-es", "jina-v2-code"].contains(where: pre.contains)
            || ["nomic-bert-moe", "jina-bert-v3"].contains(where: (source.architecture ?? "").contains)
        {
            stripsLeft = "<mask>"
        } else if name.contains("modern-bert") {
            stripsLeft = "[MASK]"
        }
        let items = source.tokens.enumerated().compactMap { id, token -> [UInt8]? in
            let type = types.types[id]
            guard type == .control || type == .unknown || type == .userDefined, !token.isEmpty else { return nil }
            let content = String(decoding: token, as: UTF8.self)
            return TokenizerFiles.object([
                ("id", number(id)), ("content", JSONValue.quoted(token)), ("single_word", flag(false)),
                ("lstrip", flag(content == stripsLeft)), ("rstrip", flag(stripsRight && !keepsRight.contains(content))),
                ("normalized", flag(false)), ("special", flag(type != .userDefined)),
            ])
        }
        return list(items)
    }

    // MARK: - Special tokens

    /// A special token by its id in the file, else by the default of the kind; nil when neither is in the vocabulary.
    private func id(_ stated: Int?, default value: Int?) throws -> Int? {
        if let stated, source.tokens.indices.contains(stated) { return stated }
        guard let value, source.tokens.indices.contains(value) else { return nil }
        return value
    }

    /// The tokens to put before and after a text and between two; nil = none.
    private func specialTokens() throws -> (bos: Int?, eos: Int?, separator: Int?) {
        func required(_ id: Int?, _ key: String) throws -> Int {
            guard let id else { throw Self.invalid(key, "missing, but the file says to add this token") }
            return id
        }
        let bos: Int?
        switch kind {
        case .bytePairs: bos = try id(source.bosID, default: source.model == "gemma4" || source.pre?.contains("glm") == true ? nil : 11)
        case .sentencePiece: bos = try id(source.bosID, default: 1)
        case .wordPiece: bos = try id(source.bosID, default: 101)
        case .unigram: bos = try id(source.bosID, default: nil)
        }
        let eos: Int?
        switch kind {
        case .bytePairs: eos = try id(source.eosID, default: source.model == "gemma4" ? nil : 11)
        case .sentencePiece: eos = try id(source.eosID, default: 2)
        case .wordPiece: eos = try id(source.eosID, default: nil)
        case .unigram: eos = try id(source.eosID, default: 1)
        }
        let separator = try id(source.separatorID, default: kind == .wordPiece ? 102 : nil)
        // A BERT model has its two marks whatever the file says.
        if kind == .wordPiece { return (try required(bos, "bos_token_id"), nil, try required(separator, "seperator_token_id")) }
        let addsBOS = source.model == "gemma4" || (source.addsBOS ?? (kind == .sentencePiece || words?.addsBOS == true))
        let addsEOS = source.addsEOS ?? (kind == .unigram)
        let addsSeparator = source.addsSeparator ?? words?.addsSeparator ?? false
        return (
            addsBOS ? try required(bos, "bos_token_id") : nil, addsEOS ? try required(eos, "eos_token_id") : nil,
            addsSeparator ? separator : nil
        )
    }

    /// `BOS A EOS`, `BOS A EOS SEP B EOS`; of a BERT model `CLS A SEP`, `CLS A SEP B SEP`.
    private func template(bos: Int?, eos: Int?, separator: Int?) -> [UInt8]? {
        let ids = [bos, eos, separator].compactMap { $0 }
        guard !ids.isEmpty else { return nil }
        func special(_ id: Int?, type: Int = 0) -> [[UInt8]] {
            id.map { id in
                [TokenizerFiles.object([("SpecialToken", TokenizerFiles.object([("id", JSONValue.quoted(source.tokens[id])), ("type_id", number(type))]))])]
            } ?? []
        }
        func sequence(_ name: String, type: Int = 0) -> [[UInt8]] {
            [TokenizerFiles.object([("Sequence", TokenizerFiles.object([("id", text(name)), ("type_id", number(type))]))])]
        }
        let isBERT = kind == .wordPiece
        let single = special(bos) + sequence("A") + special(eos) + (isBERT ? special(separator) : [])
        let second = isBERT ? 1 : 0
        let pair =
            special(bos) + sequence("A") + special(eos) + special(separator) + sequence("B", type: second) + special(eos, type: second)
            + (isBERT ? special(separator, type: second) : [])
        let tokens = Set(ids).sorted().map { id in
            (
                String(decoding: source.tokens[id], as: UTF8.self),
                TokenizerFiles.object([
                    ("id", JSONValue.quoted(source.tokens[id])), ("ids", list([number(id)])), ("tokens", list([JSONValue.quoted(source.tokens[id])])),
                ])
            )
        }
        return component(
            TemplateProcessing.typeName, [("single", list(single)), ("pair", list(pair)), ("special_tokens", TokenizerFiles.object(tokens))])
    }

    private func settings(bos: Int?, eos: Int?, separator: Int?) -> [UInt8] {
        var members: [(String, [UInt8])] = []
        func add(_ name: String, _ id: Int?) {
            if let id, source.tokens.indices.contains(id) { members.append((name, JSONValue.quoted(source.tokens[id]))) }
        }
        add("bos_token", source.bosID ?? bos)
        add("eos_token", source.eosID ?? eos)
        add("unk_token", source.unknownID)
        add("sep_token", source.separatorID ?? separator)
        add("pad_token", source.paddingID)
        add("mask_token", source.maskID)
        if kind == .wordPiece { add("cls_token", bos) }
        if let length = source.contextLength { members.append(("model_max_length", number(length))) }
        if let template = source.chatTemplate { members.append(("chat_template", JSONValue.quoted(Array(template.utf8)))) }
        return TokenizerFiles.object(members)
    }

    // MARK: - JSON text

    private func component(_ type: String, _ members: [(String, [UInt8])]) -> [UInt8] {
        TokenizerFiles.object([("type", text(type))] + members)
    }

    private func text(_ text: String) -> [UInt8] { JSONValue.quoted(Array(text.utf8)) }
    private func flag(_ flag: Bool) -> [UInt8] { Array("\(flag)".utf8) }
    private func number(_ number: Int?) -> [UInt8] { Array((number.map { "\($0)" } ?? "null").utf8) }
    private func list(_ items: [[UInt8]]) -> [UInt8] { [0x5B] + items.joined(separator: [0x2C]) + [0x5D] }
}
