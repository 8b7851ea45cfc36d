/// The types of the tokens of a GGUF file. Files mark tokens that end a turn as normal ones now and then, so those are known by
/// their text.
struct GGUFTokenTypes {
    private(set) var types: [GGUFVocabulary.TokenType]
    /// In order of id.
    private(set) var endOfGeneration: [Int] = []

    private static let endings: Set<String> = [
        "<|eot_id|>", "<|im_end|>", "<|end|>", "<|return|>", "<|call|>", "<|flush|>", "<|calls|>", "<end_of_turn>", "<|endoftext|>",
        "</s>", "<|eom_id|>", "<EOT>", "_<EOT>", "[EOT]", "[EOS]", "<|end_of_text|>", "<end_of_utterance>", "<eos>", "<turn|>",
        "<|tool_response>", "<｜end▁of▁sentence｜>", "[e~[",
    ]
    /// Marks for filling in the middle: control tokens too. The last two groups also end a generation.
    private static let fillMarks: [[String]] = [
        ["<|fim_prefix|>", "<fim-prefix>", "<fim_prefix>", "<｜fim▁begin｜>", "<PRE>", "▁<PRE>", "<|code_prefix|>", "<|prefix|>"],
        ["<|fim_suffix|>", "<fim-suffix>", "<fim_suffix>", "<｜fim▁hole｜>", "<SUF>", "▁<SUF>", "<|code_suffix|>", "<|suffix|>"],
        ["<|fim_middle|>", "<fim-middle>", "<fim_middle>", "<｜fim▁end｜>", "<MID>", "▁<MID>", "<|code_middle|>", "<|middle|>"],
    ]
    private static let fillEndings: [[String]] = [
        ["<|fim_pad|>", "<fim-pad>", "<fim_pad>", "<PAD>", "[PAD]"],
        ["<|fim_repo|>", "<|repo_name|>", "<fim-repo>", "<REPO>", "<reponame>"],
        ["<|file_sep|>"],
    ]
    /// Marks of a message's parts that are part of the text.
    private static let shown: Set<String> = ["<|channel|>", "<|message|>", "<|start|>", "<|constrain|>"]

    init(_ vocabulary: GGUFVocabulary) throws {
        guard vocabulary.types.isEmpty || vocabulary.types.count >= vocabulary.tokens.count else {
            throw TokenizerError.invalid(
                path: "tokenizer.ggml.token_type", reason: "\(vocabulary.types.count) for \(vocabulary.tokens.count) tokens")
        }
        types = vocabulary.tokens.indices.map { index in
            guard vocabulary.types.indices.contains(index) else { return .normal }
            return UInt8(exactly: vocabulary.types[index]).flatMap(GGUFVocabulary.TokenType.init) ?? .undefined
        }
        var marks: [String: Int] = [:]
        let wanted = Self.endings.union(Self.shown).union((Self.fillMarks + Self.fillEndings).joined())
        let lengths = Set(wanted.map(\.utf8.count))
        for (id, token) in vocabulary.tokens.enumerated() where lengths.contains(token.count) {
            let text = String(decoding: token, as: UTF8.self)
            if wanted.contains(text) { marks[text] = id }
        }
        var ends = Set([vocabulary.eosID, vocabulary.eotID, vocabulary.eomID].compactMap { $0 })
        for group in Self.fillMarks { if let id = Self.first(of: group, marks) { types[id] = .control } }
        for group in Self.fillEndings {
            guard let id = Self.first(of: group, marks) else { continue }
            types[id] = .control
            ends.insert(id)
        }
        for text in Self.endings {
            guard let id = marks[text] else { continue }
            types[id] = .control
            ends.insert(id)
        }
        for text in Self.shown { if let id = marks[text] { types[id] = .userDefined } }
        // Where a call ends a generation, `<|end|>` only ends a message.
        if let end = marks["<|end|>"], marks["<|call|>"] != nil || marks["<|calls|>"] != nil,
            marks["<|return|>"] != nil || marks["<|flush|>"] != nil
        {
            ends.remove(end)
            types[end] = .userDefined
        }
        // Where a call of a tool ends a generation, `</s>` is a mark of HTML.
        if let end = marks["</s>"], marks["<|tool_response>"] != nil {
            ends.remove(end)
            types[end] = .normal
        }
        endOfGeneration = ends.filter(vocabulary.tokens.indices.contains).sorted()
    }

    private static func first(of group: [String], _ marks: [String: Int]) -> Int? { group.lazy.compactMap { marks[$0] }.first }
}
