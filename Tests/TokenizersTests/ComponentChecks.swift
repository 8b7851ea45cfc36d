import Foundation

@testable import Tokenizers

/// Comparisons with components/, trunc_pad/, streaming/ and unicode_sweep/.
extension VectorChecks {
    /// The JSON of a component; the vectors leave out the charsmap, which is the one in unigram_t5.
    private static func component(_ line: JSONValue, _ key: String) throws -> ComponentJSON {
        guard let value = line[key] else { throw TokenizerError.invalid(path: key, reason: "missing") }
        guard value["type"]?.string == "Precompiled" else { return ComponentJSON(value, path: key, blobs: []) }
        let bytes = Array(try Data(contentsOf: Vectors.folder.appendingPathComponent("unigram_t5/tokenizer.json")))
        let normalizers = try JSONValue.parse(bytes)["normalizer"]?["normalizers"]?.array
        return ComponentJSON(normalizers?.first ?? value, path: key, blobs: [])
    }

    static func normalizers(into findings: inout Findings) throws {
        for (number, line) in try Vectors.lines("components/normalizers.jsonl").enumerated() {
            let normalizer = try Normalizers.read(try component(line, "normalizer"))
            for (index, io) in (line["io"]?.array ?? []).enumerated() {
                guard let pair = io.array, pair.count == 2, let input = pair[0].bytes else { continue }
                findings.begin()
                let id = "normalizers.jsonl:\(number + 1)[\(index)] \(line["normalizer"]?["type"]?.string ?? "")"
                var text = NormalizedText(original: input)
                try normalizer.normalize(&text)
                findings.expect(String(decoding: text.bytes, as: UTF8.self), pair[1].string, "of \(pair[0].string ?? "")", id)
                findings.expect(text.explicitSpans().count, text.bytes.count, "spans", id)
            }
        }
    }

    static func preTokenizers(into findings: inout Findings) throws {
        for (number, line) in try Vectors.lines("components/pre_tokenizers.jsonl").enumerated() {
            let preTokenizer = try PreTokenizers.read(try component(line, "pre_tokenizer"))
            for (index, io) in (line["io"]?.array ?? []).enumerated() {
                guard let pair = io.array, pair.count == 2, let input = pair[0].bytes else { continue }
                findings.begin()
                let id = "pre_tokenizers.jsonl:\(number + 1)[\(index)] \(line["pre_tokenizer"]?["type"]?.string ?? "")"
                var buffer = PieceBuffer(NormalizedText(original: input))
                try preTokenizer.preTokenize(&buffer)
                let counter = ScalarCounter(EncodingSource(bytes: input))
                let actual = buffer.pieces.map { piece -> [String] in
                    let start = counter.index(of: piece.originalStart)
                    let end = counter.index(of: Int(buffer.span(at: piece.end - 1).end))
                    return [String(decoding: buffer.bytes[piece.start..<piece.end], as: UTF8.self), "\(start)", "\(end)"]
                }
                let expected = (pair[1].array ?? []).map { piece -> [String] in
                    let parts = piece.array ?? []
                    return parts.map { $0.string ?? $0.int.map { "\($0)" } ?? "?" }
                }
                let isEqual = actual.count == expected.count
                    && zip(actual, expected).allSatisfy { $0.map { Array($0.utf8) } == $1.map { Array($0.utf8) } }
                if !isEqual { findings.fail("of \(pair[0].string ?? ""):\n  expected \(expected)\n  actual   \(actual)", id) }
            }
        }
    }

    static func decoders(into findings: inout Findings) throws {
        for (number, line) in try Vectors.lines("components/decoders.jsonl").enumerated() {
            let decoder = try Decoders.read(try component(line, "decoder"))
            for (index, io) in (line["io"]?.array ?? []).enumerated() {
                guard let pair = io.array, pair.count == 2, let tokens = pair[0].array?.compactMap(\.bytes) else { continue }
                findings.begin()
                let id = "decoders.jsonl:\(number + 1)[\(index)] \(line["decoder"]?["type"]?.string ?? "")"
                let sink = TextSink()
                let chain = decoder.stage(next: sink)
                for token in tokens {
                    chain.write(token)
                    chain.endToken()
                }
                chain.finish()
                // Where the reference panics, any text will do.
                if pair[1].isError { continue }
                findings.expect(String(decoding: sink.bytes, as: UTF8.self), pair[1].string, "of \(pair[0].strings ?? [])", id)
            }
        }
    }

    static func postProcessors(into findings: inout Findings) throws {
        for (number, line) in try Vectors.lines("components/post_processors.jsonl").enumerated() {
            guard case .object(let vocabulary)? = line["vocab"]?.content, let processor = line["post_processor"] else { continue }
            let data = try Data(contentsOf: Vectors.folder.appendingPathComponent("components/post_processors.jsonl"))
            let bytes = Array(data.split(separator: 0x0A)[number])
            let words = vocabulary.map { "\(String(decoding: JSONValue.quoted($0.key), as: UTF8.self)):\($0.value.int ?? 0)" }
            let json = """
                {"pre_tokenizer":{"type":"WhitespaceSplit"},"post_processor":\(String(decoding: bytes[processor.range], as: UTF8.self)),\
                "model":{"type":"WordLevel","unk_token":"[UNK]","vocab":{\(words.joined(separator: ","))}}}
                """
            let tokenizer = try Tokenizer(tokenizerJSON: Data(json.utf8))
            for (index, item) in (line["cases"]?.array ?? []).enumerated() {
                findings.begin()
                try check(item, "post_processors.jsonl:\(number + 1)[\(index)]", tokenizer, into: &findings)
            }
        }
    }

    static func streaming(_ tokenizers: (String) throws -> Tokenizer?, into findings: inout Findings) throws {
        for line in try Vectors.lines("streaming/cases.jsonl") {
            guard let tokenizer = try tokenizers(line["tokenizer"]?.string ?? "") else { continue }
            findings.begin()
            let id = "streaming/\(line["id"]?.string ?? "?") \(line["tokenizer"]?.string ?? "")"
            let ids = line["ids"]?.ints ?? []
            let skip = line["skip_special_tokens"]?.bool ?? true
            let stream = tokenizer.makeDecodeStream(skipSpecialTokens: skip)
            let emitted = try ids.map(stream.emit)
            let rest = try stream.flush()
            findings.expect(emitted.joined() + rest, line["decoded"]?.string, "joined", id)
            findings.expect(try tokenizer.decode(ids, skipSpecialTokens: skip), line["decoded"]?.string, "decoded", id)
            guard let expected = line["emit"]?.strings else { continue }
            findings.expect(emitted.map { Array($0.unicodeScalars) }, expected.map { Array($0.unicodeScalars) }, "emit", id)
            findings.expect(rest, line["flush"]?.string, "flush", id)
        }
    }

    // MARK: - Truncation and padding

    static func truncationAndPadding(
        _ tokenizers: (String) throws -> Tokenizer?, into findings: inout Findings
    ) throws {
        for line in try Vectors.lines("trunc_pad/cases.jsonl") {
            guard let tokenizer = try tokenizers(line["tokenizer"]?.string ?? "") else { continue }
            findings.begin()
            let id = "trunc_pad/\(line["id"]?.string ?? "?")"
            let truncation = line["truncation"]?.string == "file" ? keepingAll(tokenizer.truncation) : self.truncation(line["truncation"])
            let padding = line["padding"]?.string == "file" ? tokenizer.padding : self.padding(line["padding"])
            let special = line["add_special_tokens"]?.bool ?? true
            let inputs = (line["inputs"]?.array ?? []).map { TokenizerInput($0["text"]?.string ?? "", pair: $0["text_pair"]?.string) }
            if line.isError {
                do {
                    _ = try tokenizer.encode(inputs[0], addSpecialTokens: special, truncation: truncation)
                    findings.fail("the reference refuses these settings", id)
                } catch is TokenizerError {}
                continue
            }
            let outputs = line["outputs"]?.array ?? []
            let batch = padding == nil ? nil
                : try tokenizer.encodeBatch(inputs, addSpecialTokens: special, truncation: truncation, padding: padding)
            for (index, output) in outputs.enumerated() {
                let at = "\(id)[\(index)]"
                let encoding: Encoding
                do {
                    encoding = try batch?[index]
                        ?? tokenizer.encode(inputs[index], addSpecialTokens: special, truncation: truncation)
                } catch let error as TokenizerError {
                    if !output.isError { findings.fail("threw \(error)", at) }
                    continue
                }
                if output.isError {
                    findings.fail("the reference refuses this input", at)
                    continue
                }
                compare(encoding, output, at, into: &findings)
                let full = try tokenizer.encode(inputs[index], addSpecialTokens: special)
                let kept = encoding.attentionMask.reduce(0, +)
                findings.expect(encoding.truncatedTokenCount, max(full.count - kept, 0), "truncatedTokenCount", at)
                var plain = truncation
                plain?.keepsOverflowing = false
                if batch == nil {
                    let short = try tokenizer.encode(inputs[index], addSpecialTokens: special, truncation: plain)
                    findings.expect(short.ids, encoding.ids, "ids without overflow", at)
                    findings.expect(short.truncatedTokenCount, encoding.truncatedTokenCount, "count without overflow", at)
                }
            }
        }
    }

    private static func compare(_ encoding: Encoding, _ expected: JSONValue, _ id: String, into findings: inout Findings) {
        findings.expect(encoding.ids, expected["ids"]?.ints, "ids", id)
        findings.expect(encoding.typeIDs, expected["type_ids"]?.ints, "type_ids", id)
        findings.expect(encoding.attentionMask, expected["attention_mask"]?.ints, "attention_mask", id)
        findings.expect(encoding.specialTokensMask, expected["special_tokens_mask"]?.ints, "special_tokens_mask", id)
        findings.expect(encoding.sequenceIDs, expected["sequence_ids"]?.optionalInts, "sequence_ids", id)
        findings.expect(encoding.offsets, expected["offsets"]?.ranges, "offsets", id)
        findings.expect(encoding.overflowing.count, expected["overflowing_count"]?.int, "overflowing_count", id)
        for (index, part) in (expected["overflowing"]?.array ?? []).enumerated() where index < encoding.overflowing.count {
            compare(encoding.overflowing[index], part, "\(id).overflowing[\(index)]", into: &findings)
        }
    }

    private static func keepingAll(_ truncation: Truncation?) -> Truncation? {
        var result = truncation
        result?.keepsOverflowing = true
        return result
    }

    private static func truncation(_ json: JSONValue?) -> Truncation? {
        guard let json, json.isObject else { return nil }
        let strategies: [String: Truncation.Strategy] = [
            "longest_first": .longestFirst, "only_first": .onlyFirst, "only_second": .onlySecond,
        ]
        return Truncation(
            maxLength: json["max_length"]?.int ?? 0, stride: json["stride"]?.int ?? 0,
            strategy: strategies[json["strategy"]?.string ?? ""] ?? .longestFirst,
            direction: json["direction"]?.string == "left" ? .left : .right, keepsOverflowing: true)
    }

    private static func padding(_ json: JSONValue?) -> Padding? {
        guard let json, json.isObject else { return nil }
        return Padding(
            length: json["length"]?.int.map { .fixed($0) } ?? .longestInBatch,
            multipleOf: json["pad_to_multiple_of"]?.int, direction: json["direction"]?.string == "left" ? .left : .right,
            padID: json["pad_id"]?.int ?? 0, padTypeID: json["pad_type_id"]?.int ?? 0,
            padToken: json["pad_token"]?.string ?? "")
    }
}
