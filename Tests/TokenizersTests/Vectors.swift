import Foundation
import TestSupport

@testable import Tokenizers

/// The golden vectors of the reference, Tests/Fixtures/tokenizers.README.md.
enum Vectors {
    static let folder = Fixtures.unpacked("tokenizers")
    /// Tokenizers that come in packages; Tests/TokenizersTests/fetch_tokenizers.py brings them.
    static let fetched = Fixtures.folder.deletingLastPathComponent().deletingLastPathComponent()
        .appendingPathComponent("Models/fetched/tokenizers")

    /// The lines of a .jsonl file.
    static func lines(_ path: String) throws -> [JSONValue] {
        let data = try Data(contentsOf: folder.appendingPathComponent(path))
        return try data.split(separator: 0x0A).map { try JSONValue.parse(Array($0)) }
    }

    static func exists(_ path: String) -> Bool {
        FileManager.default.fileExists(atPath: folder.appendingPathComponent(path).path)
    }

    /// The tokenizer file of a folder of vectors, nil when it is in a package that was not fetched.
    static func file(_ name: String) -> URL? {
        let candidates = [
            folder.appendingPathComponent("\(name)/tokenizer.json"),
            fetched.appendingPathComponent("\(name)/tokenizer.json"),
            fetched.appendingPathComponent("\(name)/vocab.txt"),
        ]
        return candidates.first { FileManager.default.fileExists(atPath: $0.path) }
    }

    /// The tokenizer of a folder of vectors, read once; nil when it is in a package that was not fetched.
    static func tokenizer(_ name: String) throws -> Tokenizer? { try cache.tokenizer(name) }

    private static let cache = Cache()

    private final class Cache: @unchecked Sendable {
        private let lock = NSLock()
        private var known: [String: Tokenizer?] = [:]

        func tokenizer(_ name: String) throws -> Tokenizer? {
            lock.lock()
            defer { lock.unlock() }
            if let tokenizer = known[name] { return tokenizer }
            let tokenizer = try Vectors.file(name).map { try Tokenizer(contentsOf: $0) }
            known[name] = .some(tokenizer)
            return tokenizer
        }
    }
}

extension JSONValue {
    var ints: [Int]? { array?.compactMap(\.int) }
    var optionalInts: [Int?]? { array?.map(\.int) }
    var strings: [String]? { array?.compactMap(\.string) }
    var ranges: [Range<Int>]? {
        array?.map { pair in
            let ends = pair.ints ?? []
            return ends.count == 2 ? ends[0]..<max(ends[0], ends[1]) : -1 ..< -1
        }
    }
    var isError: Bool { self["error"] != nil }
}

/// Collects what differs from the vectors, with the case it belongs to.
struct Findings {
    private(set) var count = 0
    private(set) var failures: [String] = []

    mutating func begin() { count += 1 }

    mutating func expect<Value: Equatable>(_ actual: Value, _ expected: Value?, _ what: String, _ id: String) {
        guard let expected, actual != expected else { return }
        failures.append("\(id) \(what):\n  expected \(expected)\n  actual   \(actual)")
    }

    /// Strings are compared by their scalars: `==` would let canonically equivalent ones pass.
    mutating func expect(_ actual: String, _ expected: String?, _ what: String, _ id: String) {
        guard let expected, !actual.utf8.elementsEqual(expected.utf8) else { return }
        failures.append("\(id) \(what):\n  expected \(expected.debugDescription)\n  actual   \(actual.debugDescription)")
    }

    mutating func fail(_ what: String, _ id: String) { failures.append("\(id) \(what)") }

    /// The first failures, for a message.
    var summary: String {
        "\(failures.count) differences in \(count) cases\n" + failures.prefix(12).joined(separator: "\n")
    }
}

/// The comparisons with the vectors.
enum VectorChecks {
    /// cases.jsonl and decode.jsonl of one tokenizer.
    static func cases(_ name: String, _ tokenizer: Tokenizer, into findings: inout Findings) throws {
        for line in try Vectors.lines("\(name)/cases.jsonl") {
            findings.begin()
            let id = "\(name)/\(line["id"]?.string ?? "?")"
            do { try check(line, id, tokenizer, into: &findings) } catch { findings.fail("threw \(error)", id) }
        }
        guard Vectors.exists("\(name)/decode.jsonl") else { return }
        for line in try Vectors.lines("\(name)/decode.jsonl") {
            findings.begin()
            let id = "\(name)/\(line["id"]?.string ?? "?")"
            try decoded(line, line["ids"]?.ints ?? [], id, tokenizer, into: &findings)
        }
    }

    private static func decoded(
        _ line: JSONValue, _ ids: [Int], _ id: String, _ tokenizer: Tokenizer, into findings: inout Findings
    ) throws {
        for (skip, key) in [(true, "skip_special_true"), (false, "skip_special_false")] {
            let text = try tokenizer.decode(ids, skipSpecialTokens: skip)
            findings.expect(text, line["decoded"]?[key]?.string, "decoded (\(key))", id)
            findings.expect(SHA256.hex(Array(text.utf8)), line["decoded_sha256"]?[key]?.string, "decoded hash (\(key))", id)
        }
    }

    static func check(_ line: JSONValue, _ id: String, _ tokenizer: Tokenizer, into findings: inout Findings) throws {
        let special = line["add_special_tokens"]?.bool ?? true
        let encoding: Encoding
        if let words = line["pretokenized"]?.strings {
            encoding = try tokenizer.encode(pretokenized: words, addSpecialTokens: special)
        } else {
            encoding = try tokenizer.encode(
                line["text"]?.string ?? "", pair: line["text_pair"]?.string, addSpecialTokens: special)
        }
        let isLong = line["tag"]?.string == "long"
        let ids = encoding.ids
        findings.expect(ids, line["ids"]?.ints ?? [], "ids", id)
        let tokens = encoding.tokens
        if let expected = line["tokens"]?.strings, expected.count == tokens.count {
            for (index, token) in tokens.enumerated() { findings.expect(token, expected[index], "tokens[\(index)]", id) }
        }
        findings.expect(encoding.attentionMask, line["attention_mask"]?.ints ?? ids.map { _ in 1 }, "attention_mask", id)
        if !isLong {
            findings.expect(encoding.typeIDs, line["type_ids"]?.ints ?? ids.map { _ in 0 }, "type_ids", id)
            findings.expect(
                encoding.specialTokensMask, line["special_tokens_mask"]?.ints ?? ids.map { _ in 0 }, "special_tokens_mask", id)
        }
        findings.expect(encoding.wordIDs, line["word_ids"]?.optionalInts, "word_ids", id)
        findings.expect(encoding.sequenceIDs, line["sequence_ids"]?.optionalInts, "sequence_ids", id)
        findings.expect(encoding.offsets, line["offsets"]?.ranges, "offsets", id)
        let isASCII = (line["text"]?.bytes ?? []).allSatisfy { $0 < 0x80 } && (line["text_pair"]?.bytes ?? []).allSatisfy { $0 < 0x80 }
        if let expected = line["offsets_utf8"]?.ranges ?? (isASCII && line["pretokenized"] == nil ? line["offsets"]?.ranges : nil) {
            findings.expect(encoding.offsetsUTF8, expected, "offsets_utf8", id)
        }
        try decoded(line, ids, id, tokenizer, into: &findings)
    }
}
