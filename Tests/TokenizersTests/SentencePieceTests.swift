import Foundation
import TestSupport
import Testing

@testable import Tokenizers

/// SentencePiece model files: the vectors of the reference, and damaged files.
@Suite(.needsFixture("tokenizers"))
struct SentencePieceTests {
    static let names = [
        "spm_bpe_bytefallback_identity", "spm_bpe_identity_unksurface", "spm_char", "spm_unigram_cf_suffix", "spm_unigram_nmt_nfkc",
        "spm_unigram_uds_nodummy", "spm_word",
    ]

    private static func file(_ name: String) -> URL { Vectors.folder.appendingPathComponent("\(name)/tokenizer.model") }

    @Test(arguments: names)
    func cases(_ name: String) throws {
        let compiled = try Tokenizer(contentsOf: Self.file(name)).compiled()
        let tokenizer = try Tokenizer(compiled: TokenizerBytes(compiled))
        var findings = Findings()
        for (number, line) in try Vectors.lines("\(name)/cases.jsonl").enumerated() {
            findings.begin()
            let id = "\(name)/\(line["id"]?.string ?? "\(number)")"
            let ids = line["ids"]?.ints ?? []
            if let text = line["text"]?.string { findings.expect(try tokenizer.encode(text).ids, ids, "ids", id) }
            findings.expect(try tokenizer.decode(ids, skipSpecialTokens: false), line["decoded"]?.string, "decoded", id)
        }
        #expect(findings.count > 200)
        #expect(findings.failures.isEmpty, "\(findings.summary)")
    }

    @Test(arguments: [0, 1, 7, 100, 1000, 5000])
    func cutOff(_ count: Int) throws {
        let whole = Array(try Data(contentsOf: Self.file("spm_unigram_nmt_nfkc")))
        let error = try #require(throws: TokenizerError.self) { _ = try SentencePieceTokenizer.compile(Array(whole.prefix(count))) }
        #expect(!error.description.contains("\n"))
    }

    @Test func damaged() throws {
        var fuzzer = Fuzzer(samples: [Array(try Data(contentsOf: Self.file("spm_char")))])
        _ = fuzzer.run { bytes in
            guard let compiled = try? SentencePieceTokenizer.compile(bytes), let tokenizer = try? Tokenizer(compiled: TokenizerBytes(compiled)) else {
                return
            }
            _ = try? tokenizer.encode("The quick brown fox 東京 \u{1F642}").ids
        }
    }
}
