import CUtf8proc
import Foundation

/// SentencePiece's compiled normalization rules, applied as the reference does: to grapheme clusters of less than 6
/// bytes as a whole, otherwise scalar by scalar; of the matches at the start of such a part the shortest one replaces it.
///
/// The charsmap: 32-bit length of the trie in bytes, a darts-clone double array, then the replacement strings, each
/// ended by a zero byte.
struct Precompiled: Normalizer {
    static let typeName = "Precompiled"
    private let trie: ByteView
    private let strings: ByteView
    /// ASCII scalars that stand for themselves.
    private let isKept: [Bool]

    init(_ json: ComponentJSON) throws {
        let text = try json.bytes("precompiled_charsmap")
        let data: ByteView
        if text.first == 0x40 {
            guard let index = Int(String(decoding: text.dropFirst(), as: UTF8.self)), json.blobs.indices.contains(index) else {
                throw json.invalid("precompiled_charsmap", "no such section")
            }
            data = json.blobs[index]
        } else {
            guard let decoded = Data(base64Encoded: Data(text)), let view = ByteView(copying: Array(decoded)) else {
                throw json.invalid("precompiled_charsmap", "not base64")
            }
            data = view
        }
        let trieSize = Int(data.uint32(0))
        guard data.count >= 4, trieSize % 4 == 0, trieSize >= 4, trieSize <= data.count - 4,
            let trie = data.part(offset: 4, count: trieSize),
            let strings = data.part(offset: 4 + trieSize, count: data.count - 4 - trieSize),
            let all = strings.bytes(offset: 0, count: strings.count), UTF8Bytes.firstInvalid(all) == nil
        else { throw json.invalid("precompiled_charsmap", "damaged") }
        self.trie = trie
        self.strings = strings
        isKept = (0..<128).map { byte in
            withUnsafePointer(to: UInt8(byte)) {
                Self.replacement(of: UnsafeBufferPointer(start: $0, count: 1), trie, strings) == nil
            }
        }
    }

    /// What replaces a part, nil when no rule matches at its start.
    private static func replacement(
        of part: UnsafeBufferPointer<UInt8>, _ trie: ByteView, _ strings: ByteView
    ) -> UnsafeBufferPointer<UInt8>? {
        func offset(_ unit: UInt32) -> Int { Int((unit >> 10) << ((unit & 1 << 9) >> 6)) }
        let limit = trie.count / 4
        var node = offset(trie.uint32(0))
        for byte in part {
            if byte == 0 { return nil }
            node ^= Int(byte)
            guard node < limit else { return nil }
            let unit = trie.uint32(node)
            guard unit & (1 << 31 | 0xFF) == UInt32(byte) else { return nil }
            node ^= offset(unit)
            guard node < limit else { return nil }
            if unit >> 8 & 1 == 1 {
                let start = Int(trie.uint32(node) & 0x7FFF_FFFF)
                guard start <= strings.count, let rest = strings.bytes(offset: start, count: strings.count - start) else {
                    return nil
                }
                return UnsafeBufferPointer(rebasing: rest.prefix(while: { $0 != 0 }))
            }
        }
        return nil
    }

    func normalize(_ text: inout NormalizedText) {
        var changes: [ScalarChange] = []
        changes.reserveCapacity(text.bytes.count)
        var isModified = false
        text.bytes.withUnsafeBufferPointer { bytes in
            var start = 0
            while start < bytes.count {
                // An ASCII letter before an ASCII letter is a cluster of its own.
                if bytes[start] < 0x80, bytes[start] >= 0x20, start + 1 == bytes.count || bytes[start + 1] < 0x80,
                    isKept[Int(bytes[start])]
                {
                    changes.append(ScalarChange(scalar: UInt32(bytes[start]), change: 0))
                    start += 1
                    continue
                }
                let end = Self.clusterEnd(bytes, from: start)
                if end - start < 6, replace(bytes, start, end, &changes) {
                    isModified = true
                } else {
                    var index = start
                    while index < end {
                        let (scalar, length) = UTF8Bytes.scalar(bytes, at: index)
                        if replace(bytes, index, index + length, &changes) {
                            isModified = true
                        } else {
                            changes.append(ScalarChange(scalar: scalar, change: 0))
                        }
                        index += length
                    }
                }
                start = end
            }
        }
        if isModified { text.transform(changes) }
    }

    /// Appends the replacement of a part, if there is one. A longer one inserts at its end, a shorter one removes there.
    private func replace(
        _ bytes: UnsafeBufferPointer<UInt8>, _ start: Int, _ end: Int, _ changes: inout [ScalarChange]
    ) -> Bool {
        let part = UnsafeBufferPointer(rebasing: bytes[start..<end])
        guard let replacement = Self.replacement(of: part, trie, strings) else { return false }
        func count(_ bytes: UnsafeBufferPointer<UInt8>) -> Int { bytes.reduce(0) { $0 + ($1 & 0xC0 != 0x80 ? 1 : 0) } }
        let difference = count(replacement) - count(part)
        var index = 0
        while index < replacement.count {
            let (scalar, length) = UTF8Bytes.scalar(replacement, at: index)
            changes.append(ScalarChange(scalar: scalar, change: 0))
            index += length
        }
        if difference > 0 {
            for position in max(changes.count - difference, 0)..<changes.count { changes[position].change = 1 }
        } else if difference < 0, !changes.isEmpty {
            changes[changes.count - 1].change += Int32(truncatingIfNeeded: difference)
        }
        return true
    }

    /// The end of the extended grapheme cluster (UAX #29) that starts at `start`.
    private static func clusterEnd(_ bytes: UnsafeBufferPointer<UInt8>, from start: Int) -> Int {
        var state: Int32 = 0
        var (previous, length) = UTF8Bytes.scalar(bytes, at: start)
        var index = start + length
        while index < bytes.count {
            let (scalar, length) = UTF8Bytes.scalar(bytes, at: index)
            if utf8proc_grapheme_break_stateful(Int32(bitPattern: previous), Int32(bitPattern: scalar), &state) { break }
            index += length
            previous = scalar
        }
        return index
    }
}
