import Foundation
import TestSupport
import Testing

@testable import Tokenizers

/// Damaged files: the readers throw a `TokenizerError` or give a tokenizer that works.
@Suite(.needsFixture("tokenizers"), .serialized)
struct FuzzTests {
    private static let names = [
        "wp_nfkd_whitespace", "wordlevel_ctc_chars", "added_flags_bytelevel", "unigram_bytefallback", "bpe_eow_nofuse",
        "bpe_o200k_regex",
    ]

    private static func use(_ make: () throws -> Tokenizer) {
        do {
            let tokenizer = try make()
            let encoding = try tokenizer.encode(
                "Hello <L> wörld 東京 12\n", pair: "it's", truncation: Truncation(maxLength: 6, stride: 1, keepsOverflowing: true),
                padding: tokenizer.padding)
            _ = (encoding.tokens, encoding.offsets, encoding.offsetsUTF8, encoding.wordIDs, encoding.overflowing.first?.tokens)
            _ = try tokenizer.decode(encoding.ids + [0, 1, 2, 3, 70000], skipSpecialTokens: false)
            _ = (tokenizer.vocabularySize, tokenizer.token(of: 5), tokenizer.id(of: "a"), tokenizer.settings)
        } catch let error as TokenizerError {
            #expect(!error.description.contains("\n"))
        } catch {
            Issue.record("a foreign error: \(error)")
        }
    }

    @Test func tokenizerJSON() throws {
        let samples = try Self.names.map { name in
            Array(try Data(contentsOf: Vectors.folder.appendingPathComponent("\(name)/tokenizer.json")))
        }
        var fuzzer = Fuzzer(samples: samples, seed: 7)
        let count = fuzzer.run { bytes in
            Self.use { try bytes.withUnsafeBytes { try Tokenizer(tokenizerJSON: $0) } }
        }
        #expect(count > 0)
    }

    @Test func compiled() throws {
        let samples = try Self.names.map { try #require(try Vectors.tokenizer($0)).compiled() }
        var fuzzer = Fuzzer(samples: samples, seed: 8)
        let count = fuzzer.run { bytes in Self.use { try Tokenizer(compiled: TokenizerBytes(bytes)) } }
        #expect(count > 0)
    }

    /// Patterns and components are a small part of a file: damage them more often.
    @Test func components() throws {
        let samples = try ["bpe_clip", "bpe_deepseek_splits", "unigram_albert", "added_flags_llama_legacy"].map { name in
            let value = try JSONValue.parse(Array(try Data(contentsOf: Vectors.folder.appendingPathComponent("\(name)/tokenizer.json"))))
            let bytes = Array(try Data(contentsOf: Vectors.folder.appendingPathComponent("\(name)/tokenizer.json")))
            let members = ["added_tokens", "normalizer", "pre_tokenizer", "post_processor", "decoder"].compactMap { key in
                value[key].map { "\"\(key)\":" + String(decoding: bytes[$0.range], as: UTF8.self) }
            }
            let model = #""model":{"type":"WordLevel","unk_token":"a","vocab":{"a":0,"b":1}}"#
            return Array("{\((members + [model]).joined(separator: ","))}".utf8)
        }
        var fuzzer = Fuzzer(samples: samples, seed: 9)
        let count = fuzzer.run { bytes in
            Self.use { try bytes.withUnsafeBytes { try Tokenizer(tokenizerJSON: $0) } }
        }
        #expect(count > 0)
    }
}
