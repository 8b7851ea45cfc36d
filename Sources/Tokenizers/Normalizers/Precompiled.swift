import CUtf8proc

/// SentencePiece's compiled normalization rules, applied as the reference does: to grapheme clusters of less than 6
/// bytes as a whole, otherwise scalar by scalar; of the matches at the start of such a part the shortest one replaces it.
struct Precompiled: Normalizer {
    static let typeName = "Precompiled"
    private let charsmap: Charsmap
    /// ASCII scalars that stand for themselves.
    private let isKept: [Bool]

    init(_ json: ComponentJSON) throws {
        let charsmap = try Charsmap(json, "precompiled_charsmap")
        self.charsmap = charsmap
        isKept = (0..<128).map { byte in
            withUnsafePointer(to: UInt8(byte)) {
                charsmap.replacement(of: UnsafeBufferPointer(start: $0, count: 1), longest: false) == nil
            }
        }
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
        guard let (replacement, _) = charsmap.replacement(of: part, longest: false) else { return false }
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
