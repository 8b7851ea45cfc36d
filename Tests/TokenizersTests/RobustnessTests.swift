import Foundation
import TestSupport
import Testing

@testable import Tokenizers

/// Hostile files and strange texts.
struct RobustnessTests {
    private static func tokenizer(
        _ members: String = "", model: String = #"{"type":"WordLevel","unk_token":"u","vocab":{"u":0,"a":1}}"#
    ) throws -> Tokenizer {
        try Tokenizer(tokenizerJSON: Data("{\(members.isEmpty ? "" : members + ",")\"model\":\(model)}".utf8))
    }

    private static func regex(_ pattern: String) -> String {
        let quoted = String(decoding: JSONValue.quoted(Array(pattern.utf8)), as: UTF8.self)
        return #""pre_tokenizer":{"type":"Split","pattern":{"Regex":\#(quoted)},"behavior":"Isolated","invert":false}"#
    }

    @Test(arguments: [
        "", "[]", "{}", "{\"model\":{}}", "{\"model\":null}", "{\"model\":{\"type\":\"BPE\"}}", "\u{1}", "{\"a\":1} x",
        #"{"model":{"type":"WordLevel","unk_token":"u","vocab":{"u":-1}}}"#,
        #"{"model":{"type":"WordLevel","unk_token":"u","vocab":{"u":1.5}}}"#,
        #"{"model":{"type":"WordLevel","unk_token":"u","vocab":{"u":4294967295}}}"#,
        #"{"model":{"type":"WordLevel","unk_token":"u","vocab":{"u":99999999999999999999}}}"#,
        #"{"model":{"type":"WordLevel","unk_token":"u","vocab":{"u":0,"v":0}}}"#,
        #"{"model":{"type":"WordLevel","unk_token":"u","vocab":{"u":0,"u":1}}}"#,
        #"{"model":{"type":"WordLevel","unk_token":"u","vocab":{"\ud800":0}}}"#,
        #"{"model":{"type":"WordLevel","unk_token":"u","vocab":[["u",0]]}}"#,
        #"{"model":{"type":"WordLevel","unk_token":7,"vocab":{"u":0}}}"#,
        #"{"model":{"type":"Unigram","unk_id":5,"vocab":[["u",0]]}}"#,
        #"{"model":{"type":"Unigram","unk_id":0,"vocab":[["u"]]}}"#,
        #"{"model":{"type":"Unigram","unk_id":0,"vocab":[["u",1e999]]}}"#,
        #"{"model":{"type":"BPE","vocab":{"a":0},"merges":["a b"]}}"#,
        #"{"model":{"type":"BPE","vocab":{"a":0},"merges":["a"]}}"#,
        #"{"model":{"type":"BPE","vocab":{"a":0},"merges":[["a","a","a"]]}}"#,
        #"{"model":{"type":"BPE","dropout":0.1,"vocab":{"a":0},"merges":[]}}"#,
        #"{"model":{"type":"Magic","vocab":{"a":0}}}"#,
    ])
    func badFile(_ text: String) {
        let error = #expect(throws: TokenizerError.self) { try Tokenizer(tokenizerJSON: Data(text.utf8)) }
        #expect(error.map { !$0.description.contains("\n") && !$0.description.isEmpty } ?? false)
    }

    @Test(arguments: [
        #""normalizer":{"type":"Magic"}"#, #""normalizer":{"type":"Strip"}"#, #""normalizer":7"#,
        #""normalizer":{"type":"Precompiled","precompiled_charsmap":"////"}"#,
        #""normalizer":{"type":"Precompiled","precompiled_charsmap":"*"}"#,
        #""normalizer":{"type":"Precompiled","precompiled_charsmap":"@0"}"#,
        #""pre_tokenizer":{"type":"Metaspace","replacement":"ab"}"#,
        #""pre_tokenizer":{"type":"Metaspace","replacement":"_","prepend_scheme":"sometimes"}"#,
        #""pre_tokenizer":{"type":"FixedLength","length":0}"#,
        #""pre_tokenizer":{"type":"Split","pattern":{"String":" "},"behavior":"Eaten","invert":false}"#,
        #""post_processor":{"type":"BertProcessing","sep":["a"],"cls":["b",1]}"#,
        #""post_processor":{"type":"TemplateProcessing","single":[{"SpecialToken":{"id":"x","type_id":0}}],"pair":[],"special_tokens":{}}"#,
        #""decoder":{"type":"Strip","content":"ab","start":0,"stop":0}"#,
        #""added_tokens":[{"id":-1,"content":"x"}]"#, #""added_tokens":[{"id":77,"content":"x"}]"#,
        #""added_tokens":[{"content":"x"}]"#, #""added_tokens":{}"#,
        #""truncation":{"max_length":-1}"#, #""padding":{"strategy":"Fixed"}"#,
        regex("("), regex(")"), regex("["), regex("a{2}{3}+"), regex(#"\p{Nothing}"#), regex("(?s:a)"), regex("[a&&b]"),
        regex("(?i:ss)"), regex("\\"), regex("(?<n>a)\\g<n>"), regex("[b-a]"),
    ])
    func badComponent(_ members: String) {
        let error = #expect(throws: TokenizerError.self) { try Self.tokenizer(members) }
        #expect(error.map { !$0.description.contains("\n") } ?? false)
    }

    @Test func deepNesting() {
        let depth = 100_000
        for (open, close) in [("[", "]"), (#"{"normalizers":"#, "}"), (#"{"type":"Sequence","normalizers":["#, "]}")] {
            let text = String(repeating: open, count: depth) + String(repeating: close, count: depth)
            #expect(throws: TokenizerError.self) { try Self.tokenizer("\"normalizer\":\(text)") }
        }
    }

    @Test func catastrophicPattern() throws {
        let tokenizer = try Self.tokenizer(Self.regex("(a+)+[bc]"))
        #expect(throws: TokenizerError.self) { try tokenizer.encode(String(repeating: "a", count: 60)) }
    }

    @Test func missingFiles() throws {
        #expect(throws: TokenizerError.self) { try Tokenizer(contentsOf: URL(fileURLWithPath: "/nowhere/tokenizer.json")) }
        try Fixtures.withTemporaryFolder { folder in
            let error = #expect(throws: TokenizerError.self) { try Tokenizer(contentsOf: folder) }
            #expect(error?.description.contains(folder.path) ?? false)
            try Data("a\nb\n".utf8).write(to: folder.appendingPathComponent("vocab.txt"))
            #expect(throws: TokenizerError.self) { try Tokenizer(contentsOf: folder) }
        }
    }

    @Test func canonicallyEquivalentTokensStayApart() throws {
        let tokenizer = try Self.tokenizer(model: #"{"type":"WordLevel","unk_token":"u","vocab":{"u":0,"\u00e9":1,"e\u0301":2}}"#)
        #expect(tokenizer.id(of: "\u{E9}") == 1)
        #expect(tokenizer.id(of: "e\u{301}") == 2)
        #expect(tokenizer.vocabularySize == 3)
        #expect(tokenizer.token(of: 3) == nil)
        #expect(tokenizer.token(of: -1) == nil)
    }

    @Test func idsOutsideTheVocabulary() throws {
        let tokenizer = try Self.tokenizer()
        #expect(try tokenizer.decode([1, 99, -1, .max, .min, 1]) == "a a")
        #expect(try tokenizer.decode([]) == "")
    }

    @Test func invalidUTF8() throws {
        let tokenizer = try Self.tokenizer(
            #""pre_tokenizer":{"type":"WhitespaceSplit"}"#,
            model: #"{"type":"WordLevel","unk_token":"u","vocab":{"u":0,"a\ufffd":1,"\ufffd\ufffd":2}}"#)
        let encoding = try tokenizer.encode(TokenizerInput(utf8: [0x61, 0xE4, 0xB8, 0x20, 0xC0, 0x80]))
        #expect(encoding.ids == [1, 2])
        #expect(encoding.offsets == [0..<2, 3..<5])
        #expect(encoding.offsetsUTF8 == [0..<4, 5..<11])
    }

    @Test func sideFiles() throws {
        try Fixtures.withTemporaryFolder { folder in
            let vocabulary = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", "Ab", "ab"]
            try Data(vocabulary.joined(separator: "\n").utf8).write(to: folder.appendingPathComponent("vocab.txt"))
            try Data(#"{"do_lower_case":false,"model_max_length":64,"pad_token":"[PAD]","cls_token":{"content":"[CLS]"}}"#.utf8)
                .write(to: folder.appendingPathComponent("tokenizer_config.json"))
            try Data(#"{"sep_token":"[SEP]","pad_token":"other","eos_token":"none"}"#.utf8)
                .write(to: folder.appendingPathComponent("special_tokens_map.json"))
            let tokenizer = try Tokenizer(contentsOf: folder)
            let again = try Tokenizer(compiled: TokenizerBytes(tokenizer.compiled()))
            for tokenizer in [tokenizer, again] {
                #expect(try tokenizer.encode("Ab ab").ids == [2, 5, 6, 3])
                #expect(tokenizer.settings.padToken == RoleToken(content: "[PAD]", id: 0))
                #expect(tokenizer.settings.clsToken == RoleToken(content: "[CLS]", id: 2))
                #expect(tokenizer.settings.sepToken == RoleToken(content: "[SEP]", id: 3))
                #expect(tokenizer.settings.eosToken == RoleToken(content: "none", id: nil))
                #expect(tokenizer.settings.modelMaxLength == 64)
                #expect(tokenizer.addedTokens.map(\.id) == [0, 1, 2, 3, 4])
            }
        }
    }

    /// Empty texts, texts of only control characters, and long ones, through every kind of model.
    @Test(
        .needsFixture("tokenizers"),
        arguments: ["wp_cased_keep_accents", "bpe_llama3", "bpe_llama2_legacy", "unigram_t5", "wordlevel_whitespace"])
    func strangeTexts(_ name: String) throws {
        let tokenizer = try #require(try Vectors.tokenizer(name))
        let empty = try tokenizer.encode("", addSpecialTokens: false)
        #expect(empty.ids.isEmpty && empty.offsets.isEmpty && empty.tokens.isEmpty)
        let controls = String(decoding: Array(0..<32) + [127], as: UTF8.self)
        _ = try tokenizer.encode(controls, pair: controls).tokens
        let isHeavy = ProcessInfo.processInfo.environment["MLGRAPH_HEAVY"] != nil
        let length = isHeavy ? 1 << 20 : 1 << 12
        for unit in ["a", "aé ", "the quick brown fox, 12 ", "世", "\n", "'"] {
            let text = String(repeating: unit, count: length / unit.utf8.count)
            let encoding = try tokenizer.encode(text)
            #expect(encoding.offsets.allSatisfy { $0.upperBound <= text.unicodeScalars.count })
            let short = try tokenizer.encode(text, truncation: Truncation(maxLength: 128))
            #expect(short.count == min(128, encoding.count))
            #expect(short.truncatedTokenCount == encoding.count - short.count)
            _ = try tokenizer.decode(encoding.ids)
        }
    }

    @Test(.needsFixture("tokenizers")) func threadsShareATokenizer() async throws {
        let tokenizer = try #require(try Vectors.tokenizer("bpe_bl_gpt2"))
        let texts = (0..<40).map { "number \($0): the quick brown fox jumps over \($0 * 37) lazy dogs" }
        let expected = try texts.map { try tokenizer.encode($0).ids }
        try await withThrowingTaskGroup(of: (Int, [Int]).self) { group in
            for index in texts.indices { group.addTask { (index, try tokenizer.encode(texts[index]).ids) } }
            for try await (index, ids) in group { #expect(ids == expected[index]) }
        }
    }
}
