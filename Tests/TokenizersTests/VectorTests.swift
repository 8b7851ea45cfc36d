import Foundation
import TestSupport
import Testing

@testable import Tokenizers

/// Every case of the golden vectors.
@Suite(.needsFixture("tokenizers"))
struct VectorTests {
    /// Tokenizers whose file is in the archive.
    static let names = [
        "added_flags_bytelevel", "added_flags_llama_legacy", "added_flags_metaspace", "added_flags_wordpiece",
        "bpe_bl_addspace_trim", "bpe_bl_gpt2", "bpe_bl_roberta", "bpe_bl_roberta_notrim", "bpe_bytelevel_normalizer",
        "bpe_clip", "bpe_deepseek_splits", "bpe_eow_nofuse", "bpe_gemma_style", "bpe_llama2_legacy",
        "bpe_llama2_metaspace_first", "bpe_llama3", "bpe_o200k_regex", "bpe_prefix_fuse", "bpe_qwen2", "smollm2_bpe",
        "unigram_albert", "unigram_bytefallback", "unigram_t5", "unigram_xlmr_style", "wordlevel_canonical_trap",
        "wordlevel_ctc_chars", "wordlevel_fixedlength", "wordlevel_nmt_prepend", "wordlevel_scripts_digits_punct",
        "wordlevel_split_behaviours", "wordlevel_whitespace", "wp_cased_keep_accents", "wp_lower_keep_accents_prefix_at",
        "wp_nfkd_whitespace",
    ]

    /// Tokenizers that fetch_tokenizers.py brings.
    static let fetchedNames = [
        "minilm_wordpiece", "vocabtxt_en", "vocabtxt_de", "vocabtxt_fr", "vocabtxt_pt", "flan_t5_unigram", "xlmr_unigram",
    ]

    @Test(arguments: names)
    func cases(_ name: String) throws {
        let tokenizer = try #require(try Vectors.tokenizer(name))
        var findings = Findings()
        try VectorChecks.cases(name, tokenizer, into: &findings)
        #expect(findings.count > 200)
        #expect(findings.failures.isEmpty, "\(findings.summary)")
    }

    @Test(.enabled(
        if: fetchedNames.allSatisfy { Vectors.file($0) != nil },
        "tokenizers are missing in Models/fetched/tokenizers: Tests/TokenizersTests/fetch_tokenizers.py brings them"),
        arguments: fetchedNames)
    func fetchedCases(_ name: String) throws {
        try cases(name)
    }

    /// The compiled form gives the same, and compiles to itself.
    @Test(arguments: ["wp_cased_keep_accents", "bpe_llama3", "unigram_t5", "wordlevel_canonical_trap", "bpe_clip"])
    func compiledCases(_ name: String) throws {
        let compiled = try #require(try Vectors.tokenizer(name)).compiled()
        let tokenizer = try Tokenizer(compiled: TokenizerBytes(compiled))
        #expect(tokenizer.compiled() == compiled)
        var findings = Findings()
        try VectorChecks.cases(name, tokenizer, into: &findings)
        #expect(findings.failures.isEmpty, "\(findings.summary)")
    }

    /// GPT-2's model from vocab.json and merges.txt.
    @Test func vocabularyAndMerges() throws {
        try Fixtures.withTemporaryFolder { folder in
            for name in ["vocab.json", "merges.txt"] {
                try FileManager.default.copyItem(
                    at: Vectors.folder.appendingPathComponent("bpe_bl_gpt2/\(name)"), to: folder.appendingPathComponent(name))
            }
            let tokenizer = try Tokenizer(contentsOf: folder)
            let text = "The quick brown fox, 123  naïve 世界!\n"
            let whole = try #require(try Vectors.tokenizer("bpe_bl_gpt2"))
            #expect(try tokenizer.encode(text).ids == whole.encode(text).ids)
        }
    }

    @Test func normalizers() throws { try run { try VectorChecks.normalizers(into: &$0) } }
    @Test func preTokenizers() throws { try run { try VectorChecks.preTokenizers(into: &$0) } }
    @Test func decoders() throws { try run { try VectorChecks.decoders(into: &$0) } }
    @Test func postProcessors() throws { try run { try VectorChecks.postProcessors(into: &$0) } }
    @Test func streaming() throws { try run { try VectorChecks.streaming(Vectors.tokenizer, into: &$0) } }
    @Test func truncationAndPadding() throws { try run { try VectorChecks.truncationAndPadding(Vectors.tokenizer, into: &$0) } }
    @Test func unicodeClasses() throws { try run { try VectorChecks.classes(into: &$0) } }
    @Test func unicodeMaps() throws { try run { try VectorChecks.maps(into: &$0) } }

    private func run(_ body: (inout Findings) throws -> Void) throws {
        var findings = Findings()
        try body(&findings)
        #expect(findings.count > 8)
        #expect(findings.failures.isEmpty, "\(findings.summary)")
    }
}
