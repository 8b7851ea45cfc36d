import Foundation

/// Finds and reads the files of a tokenizer.
enum TokenizerFiles {
    /// The compiled form of the tokenizer at `url`, a file or a folder.
    static func compile(_ url: URL) throws -> [UInt8] {
        var isFolder: ObjCBool = false
        guard FileManager.default.fileExists(atPath: url.path, isDirectory: &isFolder) else {
            throw TokenizerError.unreadable(file: url.path, reason: "no such file or folder")
        }
        guard isFolder.boolValue else {
            if url.pathExtension == "txt" { return try bert(url, folder: nil) }
            if url.pathExtension == "model" { return try naming(url) { try SentencePieceTokenizer.compile(Array(try read(url))) } }
            return try json(url, folder: nil)
        }
        func exists(_ name: String) -> URL? {
            let file = url.appendingPathComponent(name)
            return FileManager.default.fileExists(atPath: file.path) ? file : nil
        }
        if let file = exists("tokenizer.json") { return try json(file, folder: url) }
        if let file = exists("vocab.txt") { return try bert(file, folder: url) }
        if let vocabulary = exists("vocab.json"), let merges = exists("merges.txt") {
            return try byteLevel(vocabulary, merges, folder: url)
        }
        throw TokenizerError.unreadable(
            file: url.path, reason: "no tokenizer.json, vocab.txt, or vocab.json with merges.txt in this folder")
    }

    private static func read(_ url: URL) throws -> Data {
        do { return try Data(contentsOf: url, options: .mappedIfSafe) } catch {
            throw TokenizerError.unreadable(file: url.path, reason: "cannot be read")
        }
    }

    /// Runs `body`, and names the file in its errors.
    private static func naming<Result>(_ url: URL, _ body: () throws -> Result) throws -> Result {
        do { return try body() } catch let error as TokenizerError { throw TokenizerError.inFile(url.path, error) }
    }

    private static func json(_ url: URL, folder: URL?) throws -> [UInt8] {
        let data = try read(url)
        return try naming(url) {
            var compiler = try data.withUnsafeBytes { raw in
                try raw.withMemoryRebound(to: UInt8.self) { try TokenizerCompiler(tokenizerJSON: $0) }
            }
            if let folder { compiler.add(TokenizerSettings.key, try settings(folder).json) }
            return try compiler.compile()
        }
    }

    // MARK: - Side files

    private struct Settings {
        var members: [(String, [UInt8])] = []
        var lowercases: Bool?
        var stripsAccents: Bool?
        var separatesIdeographs: Bool?
        var addsPrefixSpace: Bool?
        var className = ""

        var json: [UInt8] { TokenizerFiles.object(members) }
    }

    /// What is kept of tokenizer_config.json and special_tokens_map.json; the first one counts.
    private static func settings(_ folder: URL) throws -> Settings {
        var settings = Settings()
        for name in ["tokenizer_config.json", "special_tokens_map.json"] {
            let url = folder.appendingPathComponent(name)
            guard FileManager.default.fileExists(atPath: url.path) else { continue }
            let bytes = Array(try read(url))
            try naming(url) {
                let value = try JSONValue.parse(bytes)
                for key in TokenizerSettings.names where !settings.members.contains(where: { $0.0 == key }) {
                    if let member = value[key] { settings.members.append((key, Array(bytes[member.range]))) }
                }
                settings.lowercases = settings.lowercases ?? value["do_lower_case"]?.bool
                settings.stripsAccents = settings.stripsAccents ?? value["strip_accents"]?.bool
                settings.separatesIdeographs = settings.separatesIdeographs ?? value["tokenize_chinese_chars"]?.bool
                settings.addsPrefixSpace = settings.addsPrefixSpace ?? value["add_prefix_space"]?.bool
                if let name = value["tokenizer_class"]?.string { settings.className = name }
            }
        }
        return settings
    }

    // MARK: - BERT

    /// A `vocab.txt`: one token per line, the id is the line's number. Lower-cases unless `tokenizer_config.json` says otherwise.
    private static func bert(_ url: URL, folder: URL?) throws -> [UInt8] {
        let data = try read(url)
        let settings = try folder.map(settings) ?? Settings()
        return try naming(url) {
            var vocabulary = VocabularySource()
            var ids: [[UInt8]: UInt32] = [:]
            for (index, line) in try lines(data).enumerated() {
                let id = UInt32(truncatingIfNeeded: index)
                vocabulary.add(id: id, line)
                ids[line] = ids[line] ?? id
            }
            func special(_ token: String) throws -> UInt32 {
                guard let id = ids[Array(token.utf8)] else {
                    throw TokenizerError.invalid(path: "vocab.txt", reason: "the token \(token) is missing")
                }
                return id
            }
            let names = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"]
            let added = names.compactMap { name in ids[Array(name.utf8)].map { (name, $0) } }.sorted { $0.1 < $1.1 }
            let cls = try special("[CLS]")
            let sep = try special("[SEP]")
            _ = try special("[UNK]")
            let accents = settings.stripsAccents.map { "\($0)" } ?? "null"
            let template = """
                {"type":"TemplateProcessing","single":[{"SpecialToken":{"id":"[CLS]","type_id":0}},\
                {"Sequence":{"id":"A","type_id":0}},{"SpecialToken":{"id":"[SEP]","type_id":0}}],\
                "pair":[{"SpecialToken":{"id":"[CLS]","type_id":0}},{"Sequence":{"id":"A","type_id":0}},\
                {"SpecialToken":{"id":"[SEP]","type_id":0}},{"Sequence":{"id":"B","type_id":1}},\
                {"SpecialToken":{"id":"[SEP]","type_id":1}}],"special_tokens":{\
                "[CLS]":{"id":"[CLS]","ids":[\(cls)],"tokens":["[CLS]"]},\
                "[SEP]":{"id":"[SEP]","ids":[\(sep)],"tokens":["[SEP]"]}}}
                """
            let normalizer = """
                {"type":"BertNormalizer","clean_text":true,"handle_chinese_chars":\(settings.separatesIdeographs ?? true),\
                "strip_accents":\(accents),"lowercase":\(settings.lowercases ?? true)}
                """
            return try TokenizerCompiler(
                model: [
                    ("type", Array("\"WordPiece\"".utf8)), ("unk_token", Array("\"[UNK]\"".utf8)),
                    ("continuing_subword_prefix", Array("\"##\"".utf8)), ("max_input_chars_per_word", Array("100".utf8)),
                ],
                members: [
                    ("added_tokens", addedTokens(added.map { ($0.0, $0.1, false) })),
                    ("normalizer", Array(normalizer.utf8)),
                    ("pre_tokenizer", Array(#"{"type":"BertPreTokenizer"}"#.utf8)),
                    ("post_processor", Array(template.utf8)),
                    ("decoder", Array(###"{"type":"WordPiece","prefix":"##","cleanup":true}"###.utf8)),
                    (TokenizerSettings.key, settings.json),
                ], vocabulary: vocabulary, merges: MergeSource()
            ).compile(allowsEqualTokens: true)
        }
    }

    /// Lines without their ends; a last empty line is none. Other white space belongs to a token.
    private static func lines(_ data: Data) throws -> [[UInt8]] {
        let bytes = Array(data)
        if let offset = bytes.withUnsafeBufferPointer({ UTF8Bytes.firstInvalid($0) }) {
            throw TokenizerError.malformedJSON(offset: offset, reason: "not valid UTF-8")
        }
        var lines = bytes.split(separator: 0x0A, omittingEmptySubsequences: false).map { line in
            Array(line.last == 0x0D ? line.dropLast() : line)
        }
        if lines.last?.isEmpty == true { lines.removeLast() }
        return lines
    }

    // MARK: - Byte-level BPE

    /// `vocab.json` and `merges.txt` of GPT-2 or RoBERTa.
    private static func byteLevel(_ vocabularyURL: URL, _ mergesURL: URL, folder: URL) throws -> [UInt8] {
        let settings = try settings(folder)
        var vocabulary = VocabularySource()
        let data = try read(vocabularyURL)
        try naming(vocabularyURL) {
            try data.withUnsafeBytes { raw in
                try raw.withMemoryRebound(to: UInt8.self) { bytes in
                    var reader = try JSONReader(bytes)
                    try reader.readObject { reader, key in vocabulary.add(id: try reader.readID(), key) }
                    try reader.finish()
                }
            }
        }
        var merges = MergeSource()
        let mergeData = try read(mergesURL)
        try naming(mergesURL) {
            for (index, line) in try lines(mergeData).enumerated() {
                if index == 0, line.starts(with: "#version".utf8) { continue }
                guard merges.addLine(line) else {
                    throw TokenizerError.invalid(path: "line \(index + 1)", reason: "expected two tokens")
                }
            }
        }
        return try naming(folder) {
            let ids = vocabulary.idsByToken()
            func id(_ token: String) -> UInt32? { ids[Array(token.utf8)] }
            var added: [(String, UInt32, Bool)] = []
            let space = settings.addsPrefixSpace ?? false
            var post = #"{"type":"ByteLevel","add_prefix_space":true,"trim_offsets":false,"use_regex":true}"#
            if let cls = id("<s>"), let sep = id("</s>"), id("<mask>") != nil {
                post = """
                    {"type":"RobertaProcessing","sep":["</s>",\(sep)],"cls":["<s>",\(cls)],"trim_offsets":true,\
                    "add_prefix_space":\(space)}
                    """
                for name in ["<s>", "<pad>", "</s>", "<unk>", "<mask>"] {
                    if let id = id(name) { added.append((name, id, name == "<mask>")) }
                }
            } else if let end = id("<|endoftext|>") {
                added.append(("<|endoftext|>", end, false))
            }
            added.sort { $0.1 < $1.1 }
            let pre = #"{"type":"ByteLevel","add_prefix_space":\#(space),"trim_offsets":true,"use_regex":true}"#
            return try TokenizerCompiler(
                model: [("type", Array("\"BPE\"".utf8))],
                members: [
                    ("added_tokens", addedTokens(added)), ("pre_tokenizer", Array(pre.utf8)),
                    ("post_processor", Array(post.utf8)),
                    ("decoder", Array(#"{"type":"ByteLevel","add_prefix_space":true,"trim_offsets":true,"use_regex":true}"#.utf8)),
                    (TokenizerSettings.key, settings.json),
                ], vocabulary: vocabulary, merges: merges
            ).compile()
        }
    }

    // MARK: - JSON text

    private static func addedTokens(_ tokens: [(content: String, id: UInt32, stripsLeft: Bool)]) -> [UInt8] {
        let items = tokens.map { token in
            let content = String(decoding: JSONValue.quoted(Array(token.content.utf8)), as: UTF8.self)
            return """
                {"id":\(token.id),"content":\(content),"single_word":false,"lstrip":\(token.stripsLeft),"rstrip":false,\
                "normalized":false,"special":true}
                """
        }
        return Array("[\(items.joined(separator: ","))]".utf8)
    }

    static func object(_ members: [(String, [UInt8])]) -> [UInt8] {
        var output: [UInt8] = [0x7B]
        for (index, member) in members.enumerated() {
            if index > 0 { output.append(0x2C) }
            output += JSONValue.quoted(Array(member.0.utf8)) + [0x3A] + member.1
        }
        return output + [0x7D]
    }
}
