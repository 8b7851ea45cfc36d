import Foundation
import TestSupport
import Testing

@testable import Tokenizers

/// The vectors of llama.cpp: every case of every GGUF vocabulary.
@Suite(.needsFixture("tokenizers"))
struct GGUFVectorTests {
    /// Vocabularies that are in the archive.
    static let names = [
        "gguf_small_bpe_gpt2", "gguf_small_bpe_gpt4o", "gguf_small_bpe_llama3", "gguf_small_bpe_qwen2", "gguf_small_bpe_smollm",
        "gguf_small_spm", "gguf_small_ugm", "gguf_small_wpm",
    ]

    /// Vocabularies that fetch_tokenizers.py brings.
    static let fetchedNames = [
        "gguf_bert_bge", "gguf_command_r", "gguf_deepseek_coder", "gguf_deepseek_llm", "gguf_falcon", "gguf_gpt_2", "gguf_llama_bpe",
        "gguf_llama_spm", "gguf_nomic_bert_moe", "gguf_phi_3", "gguf_qwen2", "gguf_refact", "gguf_smollm2", "gguf_starcoder",
    ]

    static func file(_ name: String) -> URL? {
        [Vectors.folder, Vectors.fetched].map { $0.appendingPathComponent("\(name)/vocab.gguf") }
            .first { FileManager.default.fileExists(atPath: $0.path) }
    }

    @Test(arguments: names)
    func cases(_ name: String) throws {
        let vocabulary = try GGUFMetadata(contentsOf: try #require(Self.file(name))).vocabulary()
        // By way of the compiled form, which is what a model file carries.
        let compiled = try Tokenizer(gguf: vocabulary).compiled()
        let tokenizer = try Tokenizer(compiled: TokenizerBytes(compiled))
        #expect(tokenizer.compiled() == compiled)
        var findings = Findings()
        for (number, line) in try Vectors.lines("\(name)/cases.jsonl").enumerated() {
            findings.begin()
            let id = "\(name)/\(line["id"]?.string ?? "\(number)")"
            do { try check(line, id, tokenizer, vocabulary, into: &findings) } catch { findings.fail("threw \(error)", id) }
        }
        #expect(findings.count > 200)
        #expect(findings.failures.isEmpty, "\(findings.summary)")
    }

    @Test(
        .enabled(
            if: fetchedNames.allSatisfy { file($0) != nil },
            "vocabularies are missing in Models/fetched/tokenizers: Tests/TokenizersTests/fetch_tokenizers.py brings them"),
        arguments: fetchedNames)
    func fetchedCases(_ name: String) throws {
        try cases(name)
    }

    private func check(
        _ line: JSONValue, _ id: String, _ tokenizer: Tokenizer, _ vocabulary: GGUFVocabulary, into findings: inout Findings
    ) throws {
        let text = line["text"]?.string ?? ""
        let ids = try tokenizer.encode(
            text, addSpecialTokens: line["add_special"]?.bool ?? true, parseSpecialTokens: line["parse_special"]?.bool ?? true
        ).ids
        let expected = line["ids"]?.ints ?? []
        findings.expect(ids, expected, "ids", id)
        let shown = line["detok_utf8_hex"]?.string.map(Self.decodedHex) ?? text
        findings.expect(try tokenizer.decode(expected, skipSpecialTokens: false), shown, "decoded", id)
        let stream = tokenizer.makeDecodeStream(skipSpecialTokens: false)
        let pieces = try expected.map { try stream.emit($0) } + [stream.flush()]
        findings.expect(pieces.joined(), shown, "streamed", id)
    }

    /// The text of bytes in hexadecimal, with U+FFFD for what is not UTF-8.
    private static func decodedHex(_ hex: String) -> String {
        let digits = hex.utf8.compactMap { UInt8(String(UnicodeScalar($0)), radix: 16) }
        let bytes = stride(from: 0, to: digits.count - 1, by: 2).map { digits[$0] << 4 | digits[$0 + 1] }
        return String(decoding: bytes.withUnsafeBufferPointer { UTF8Bytes.repaired($0) }, as: UTF8.self)
    }
}
