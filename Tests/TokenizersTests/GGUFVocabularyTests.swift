import Testing

@testable import Tokenizers

/// Small and hostile vocabularies, without a file.
struct GGUFVocabularyTests {
    private static func vocabulary(_ model: String, _ tokens: [String], types: [Int32] = [], merges: [String] = []) -> GGUFVocabulary {
        var result = GGUFVocabulary(model: model, tokens: tokens.map { Array($0.utf8) })
        result.types = types
        result.merges = merges.map { Array($0.utf8) }
        result.pre = "gpt-2"
        return result
    }

    private static let plain = vocabulary(
        "gpt2", ["a", "b", "ab", "Ġ", "<x>", "<x><y>", "<y><z>!", "<|im_end|>"], types: [1, 1, 1, 1, 3, 4, 3, 1], merges: ["a b"])

    @Test func mergesAndSpecialTokens() throws {
        let tokenizer = try Tokenizer(gguf: Self.plain)
        #expect(try tokenizer.encode("abba<x>a").ids == [2, 1, 0, 4, 0])
        // A control token in the text of a user stays text (of which only the letters are in the vocabulary here); a user-defined one is found.
        #expect(try tokenizer.encode("a<x>b", parseSpecialTokens: false).ids == [0, 1])
        #expect(try tokenizer.encode("a<x><y>b", parseSpecialTokens: false).ids == [0, 5, 1])
        // The longest token of the text goes first, also where another one begins before it.
        #expect(try tokenizer.encode("<x><y><z>!").ids == [4, 6])
        #expect(try tokenizer.decode([2, 3, 0, 4, 7]) == "ab a")
        #expect(try tokenizer.decode([2, 3, 0, 4, 7], skipSpecialTokens: false) == "ab a<x><|im_end|>")
        #expect(try tokenizer.decode([99, -1, 2]) == "ab")
    }

    @Test func unknownCharactersKeepTheirNeighboursApart() throws {
        #expect(try Tokenizer(gguf: Self.plain).encode("azb").ids == [0, 1])
    }

    @Test func tokensThatEndAGeneration() throws {
        var vocabulary = Self.plain
        vocabulary.eosID = 4
        #expect(try vocabulary.endOfGenerationIDs == [4, 7])
        vocabulary.eosID = 1000
        #expect(try vocabulary.endOfGenerationIDs == [7])
    }

    @Test func scoredMergesTakeTheBestScoreAndThenTheLeftmost() throws {
        var vocabulary = Self.vocabulary("llama", ["<unk>", "<s>", "</s>", "▁", "a", "b", "ab", "ba", "aa"], types: [2, 3, 3, 1, 1, 1, 1, 1, 1])
        vocabulary.scores = [0, 0, 0, -9, -8, -7, -2, -1, -3]
        vocabulary.addsSpacePrefix = false
        let tokenizer = try Tokenizer(gguf: vocabulary)
        #expect(try tokenizer.encode("aba", addSpecialTokens: false).ids == [4, 7])
        #expect(try tokenizer.encode("aaa").ids == [1, 8, 4])
        #expect(try tokenizer.encode("aZ a", addSpecialTokens: false).ids == [4, 0, 3, 4])
        #expect(tokenizer.settings.bosToken?.id == 1)
    }

    @Test func pairsHaveTheMarksOfTheirKind() throws {
        var words = Self.vocabulary("bert", ["[UNK]", "[CLS]", "[SEP]", "▁a", "b", "▁,"], types: [3, 3, 3, 1, 1, 1])
        (words.unknownID, words.bosID, words.separatorID) = (0, 1, 2)
        let encoding = try Tokenizer(gguf: words).encode("Ab,", pair: "á x")
        #expect(encoding.ids == [1, 3, 4, 5, 2, 3, 0, 2])
        #expect(encoding.typeIDs == [0, 0, 0, 0, 0, 1, 1, 1])
    }

    @Test func cleanUpStreams() throws {
        var words = Self.vocabulary("bert", ["[UNK]", "[CLS]", "[SEP]", "▁it", "▁'", "▁s", "▁.", "▁x"], types: [3, 3, 3, 1, 1, 1, 1, 1])
        (words.unknownID, words.bosID, words.separatorID) = (0, 1, 2)
        let tokenizer = try Tokenizer(gguf: words)
        let ids = [3, 4, 5, 6, 7, 4, 7, 6, 6]
        let stream = tokenizer.makeDecodeStream()
        let streamed = try ids.map { try stream.emit($0) }.joined() + stream.flush()
        #expect(streamed == " it's. x'x..")
        #expect(try tokenizer.decode(ids) == streamed)
    }

    static let damaged: [GGUFVocabulary] = {
        var short = plain
        short.types = [1]
        var noMerge = plain
        noMerge.merges = [Array("ab".utf8)]
        var strangeMerge = plain
        strangeMerge.merges = [Array("a z".utf8)]
        var strangePattern = plain
        strangePattern.pre = "something\nelse"
        var noUTF8 = plain
        noUTF8.tokens[0] = [0xFF]
        var noBOS = vocabulary("t5", ["a"])
        noBOS.addsBOS = true
        var shortScores = vocabulary("llama", ["a", "b"])
        shortScores.scores = [1]
        var notFinite = vocabulary("llama", ["a"])
        notFinite.scores = [.nan]
        var damagedCharsmap = vocabulary("t5", ["a", "b", "c"])
        damagedCharsmap.charsmap = [1, 2, 3]
        return [
            short, noMerge, strangeMerge, strangePattern, noUTF8, noBOS, shortScores, notFinite, damagedCharsmap, vocabulary("gpt2", []),
            vocabulary("rwkv", ["a"]), vocabulary("bert", ["a"]),
        ]
    }()

    @Test(arguments: damaged.indices) func damagedVocabulary(_ index: Int) throws {
        let error = try #require(throws: TokenizerError.self) { _ = try Tokenizer(gguf: Self.damaged[index]) }
        #expect(!error.description.contains("\n"))
    }

    @Test func everyNamedPatternCompiles() throws {
        for name in ["default", "llama-bpe", "qwen35", "gpt-4o", "granite-embed-multi-97m", "tekken", "deepseek-llm", "deepseek-v3", "bloom", "viking", "jais-2", "exaone-moe", "minicpm5", "laguna", "seed-coder", "bailingmoe", "ufakzeka", "falcon", "gemma4"] {
            var vocabulary = Self.plain
            vocabulary.pre = name
            vocabulary.bosID = 4
            #expect(try Tokenizer(gguf: vocabulary).encode("ab, ab 12\n", addSpecialTokens: false).ids.contains(2), "\(name)")
        }
    }
}
