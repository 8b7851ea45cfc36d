import Foundation

@testable import Tokenizers

/// Comparisons with unicode_sweep/: every scalar there is.
extension VectorChecks {
    private static func flags(_ ranges: JSONValue?) -> [Bool] {
        var result = [Bool](repeating: false, count: 0x110000)
        for pair in ranges?.array ?? [] {
            guard let ends = pair.ints, ends.count == 2 else { continue }
            result.replaceSubrange(ends[0]...ends[1], with: repeatElement(true, count: ends[1] - ends[0] + 1))
        }
        return result
    }

    static func classes(into findings: inout Findings) throws {
        let table = ScalarTable.shared
        // All scalars in one text.
        var text: [UInt8] = []
        text.reserveCapacity(4_500_000)
        for scalar in UInt32(0)..<0x110000 where scalar < 0xD800 || scalar >= 0xE000 { UTF8Bytes.append(scalar, to: &text) }
        for line in try Vectors.lines("unicode_sweep/classes.jsonl") {
            let name = line["class"]?.string ?? ""
            findings.begin()
            let expected = flags(line["ranges"])
            var actual = [Bool](repeating: false, count: 0x110000)
            if name.hasPrefix("regex:") {
                // Runs of matching scalars.
                let regex = try Regex(oniguruma: Array("(?:\(name.dropFirst(6)))+".utf8), path: "test")
                try text.withUnsafeBufferPointer { bytes in
                    try regex.forEachMatch(in: bytes) { start, end in
                        let first = Int(UTF8Bytes.scalar(bytes, at: start).scalar)
                        let last = Int(UTF8Bytes.scalar(bytes, before: end).scalar)
                        actual.replaceSubrange(first...last, with: repeatElement(true, count: last - first + 1))
                        if first < 0xD800, last >= 0xE000 {
                            actual.replaceSubrange(0xD800..<0xE000, with: repeatElement(false, count: 0x800))
                        }
                    }
                }
            } else {
                let flag: UInt16
                switch name {
                case "BertPreTokenizer:isolated", "Punctuation:isolated": flag = ScalarTable.punctuation
                case "Digits:isolated": flag = ScalarTable.numeric
                case "Whitespace:word": flag = 0
                default: flag = ScalarTable.whitespace
                }
                for scalar in 0..<0x110000 {
                    actual[scalar] = flag == 0 ? table.isRustWord(UInt32(scalar)) : table.has(flag, UInt32(scalar))
                }
            }
            if actual == expected { continue }
            let differences = (0..<0x110000).filter { actual[$0] != expected[$0] }
            findings.fail("\(differences.count) differ, such as \(differences.prefix(20).map { String($0, radix: 16) })", name)
        }
    }

    private static let normalizers: [String: String] = [
        "BertNormalizer(clean,chinese,strip=null,lower)":
            #"{"type":"BertNormalizer","clean_text":true,"handle_chinese_chars":true,"strip_accents":null,"lowercase":true}"#,
        "BertNormalizer(clean,chinese,strip=false,no lower)":
            #"{"type":"BertNormalizer","clean_text":true,"handle_chinese_chars":true,"strip_accents":false,"lowercase":false}"#,
    ]

    /// All scalars take a while in a debug build; by default those that change, and a part of the others.
    private static let isHeavy = ProcessInfo.processInfo.environment["MLGRAPH_HEAVY"] != nil

    static func maps(into findings: inout Findings) throws {
        for line in try Vectors.lines("unicode_sweep/maps.jsonl") {
            let name = line["normalizer"]?.string ?? ""
            // The charsmap's single scalars are part of the component vectors.
            if name.hasPrefix("Precompiled") { continue }
            let json = try JSONValue.parse(Array((normalizers[name] ?? #"{"type":"\#(name)"}"#).utf8))
            let normalizer = try Normalizers.read(ComponentJSON(json, path: "test", blobs: []))
            findings.begin()
            let removed = flags(line["removed"])
            let toSpace = flags(line["to_space"])
            let surrounded = flags(line["surrounded_by_spaces"])
            var other: [UInt32: [UInt8]] = [:]
            for pair in line["other"]?.array ?? [] {
                guard let parts = pair.array, parts.count == 2, let scalar = parts[0].int, let result = parts[1].bytes else { continue }
                other[UInt32(scalar)] = result
            }
            var wrong: [String] = []
            for scalar in UInt32(0)..<0x110000 {
                // Hangul syllables and surrogates are not in the sweep.
                if (0xAC00..<0xE000).contains(scalar) { continue }
                let index = Int(scalar)
                let isListed = removed[index] || toSpace[index] || surrounded[index] || other[scalar] != nil
                if !isListed, scalar % (isHeavy ? 1 : 131) != 0 { continue }
                var bytes: [UInt8] = []
                UTF8Bytes.append(scalar, to: &bytes)
                let expected: [UInt8] =
                    removed[index] ? [] : toSpace[index] ? [0x20]
                    : surrounded[index] ? [0x20] + bytes + [0x20] : other[scalar] ?? bytes
                var text = NormalizedText(original: bytes)
                try normalizer.normalize(&text)
                if text.bytes != expected { wrong.append(String(scalar, radix: 16)) }
            }
            if !wrong.isEmpty { findings.fail("\(wrong.count) scalars differ: \(wrong.prefix(20))", name) }
        }
    }
}
