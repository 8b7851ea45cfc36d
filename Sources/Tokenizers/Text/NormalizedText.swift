/// A range of bytes of the original text.
struct Span: Sendable, Equatable {
    var start: UInt32
    var end: UInt32

    @inline(__always)
    init(start: UInt32, end: UInt32) {
        self.start = start
        self.end = end
    }

    @inline(__always)
    init(_ start: Int, _ end: Int) {
        self.start = UInt32(truncatingIfNeeded: start)
        self.end = UInt32(truncatingIfNeeded: end)
    }
}

/// A text under normalization: for each byte the range of the original that it stands for. Ranges cover whole scalars.
/// Without `spans`, byte `i` stands for the scalar of the original that has a byte at `base + i`: true for
/// untouched text, and for replacements that keep the length of each scalar.
struct NormalizedText {
    var bytes: [UInt8]
    var spans: [Span]?
    /// Where in the original this text begins.
    let base: Int
    let original: [UInt8]

    init(original: [UInt8]) {
        bytes = original
        base = 0
        self.original = original
    }

    init(bytes: [UInt8], spans: [Span]?, base: Int, original: [UInt8]) {
        self.bytes = bytes
        self.spans = spans
        self.base = base
        self.original = original
    }

    /// The range of the original that byte `index` stands for.
    func span(at index: Int) -> Span {
        if let spans { return index < spans.count ? spans[index] : Span(base, base) }
        return Self.scalarSpan(original, at: base + index)
    }

    /// The scalar of `bytes` that has a byte at `index`.
    static func scalarSpan(_ bytes: [UInt8], at index: Int) -> Span {
        guard index < bytes.count else { return Span(bytes.count, bytes.count) }
        var start = index
        while start > 0, index - start < 3, bytes[start] & 0xC0 == 0x80 { start -= 1 }
        var end = index + 1
        while end < bytes.count, bytes[end] & 0xC0 == 0x80 { end += 1 }
        return Span(start, end)
    }

    /// All spans, written out.
    func explicitSpans() -> [Span] {
        if let spans { return spans }
        var result: [Span] = []
        result.reserveCapacity(bytes.count)
        var index = 0
        while index < bytes.count {
            let span = Self.scalarSpan(original, at: base + index)
            let end = min(Int(span.end) - base, bytes.count)
            repeat {
                result.append(span)
                index += 1
            } while index < end
        }
        return result
    }

    var scalars: [UInt32] { UTF8Bytes.scalars(bytes) }

    var isASCII: Bool { bytes.withUnsafeBufferPointer { UTF8Bytes.isASCII($0) } }

    /// Replaces the text. `initiallyRemoved` scalars at its start are dropped first. An inserted scalar takes the range
    /// of the byte before the current place, a replacing one the range of what it replaces.
    mutating func transform(_ changes: [ScalarChange], initiallyRemoved: Int = 0) {
        let oldSpans = explicitSpans()
        var newBytes: [UInt8] = []
        var newSpans: [Span] = []
        newBytes.reserveCapacity(bytes.count)
        newSpans.reserveCapacity(bytes.count)
        bytes.withUnsafeBufferPointer { old in
            var offset = 0
            func skip(_ count: Int) {
                for _ in 0..<max(count, 0) {
                    if offset >= old.count { return }
                    offset += UTF8Bytes.scalar(old, at: offset).length
                }
            }
            skip(initiallyRemoved)
            for item in changes {
                let span: Span
                if item.change > 0 {
                    span = offset > 0 ? oldSpans[min(offset, oldSpans.count) - 1] : Span(base, base)
                } else {
                    span = offset < oldSpans.count ? oldSpans[offset] : oldSpans.last ?? Span(base, base)
                    skip(1 - Int(item.change))
                }
                UTF8Bytes.append(item.scalar, to: &newBytes)
                while newSpans.count < newBytes.count { newSpans.append(span) }
            }
        }
        bytes = newBytes
        spans = newSpans
    }

    /// Keeps the scalars for which `keep` holds.
    mutating func filter(_ keep: (UInt32) -> Bool) {
        var changes: [ScalarChange] = []
        var removed: Int32 = 0
        var initially = 0
        for scalar in scalars {
            if keep(scalar) {
                if removed > 0 {
                    if changes.isEmpty { initially = Int(removed) } else { changes[changes.count - 1].change = -removed }
                    removed = 0
                }
                changes.append(ScalarChange(scalar: scalar, change: 0))
            } else {
                removed += 1
            }
        }
        if removed > 0, !changes.isEmpty { changes[changes.count - 1].change = -removed }
        transform(changes, initiallyRemoved: initially)
    }

    /// Replaces scalars one by one.
    mutating func map(_ replace: (UInt32) -> UInt32) {
        transform(scalars.map { ScalarChange(scalar: replace($0), change: 0) })
    }

    /// Puts `prefix` in front of a text that is not empty. The prefix stands for what the first scalar stands for.
    mutating func prepend(_ prefix: [UInt8]) {
        guard !bytes.isEmpty else { return }
        let first = span(at: 0)
        let old = explicitSpans()
        bytes.insert(contentsOf: prefix, at: 0)
        spans = Array(repeating: first, count: prefix.count) + old
    }

    /// Replaces each match by `content`, which stands for what the last byte of the match stood for.
    mutating func replace(_ matches: [Match], with content: [UInt8]) {
        guard matches.contains(where: \.isMatch) else { return }
        let old = explicitSpans()
        var newBytes: [UInt8] = []
        var newSpans: [Span] = []
        newBytes.reserveCapacity(bytes.count)
        newSpans.reserveCapacity(bytes.count)
        for match in matches {
            if match.isMatch {
                let span = match.end > match.start ? old[match.end - 1] : newSpans.last ?? Span(base, base)
                newBytes.append(contentsOf: content)
                while newSpans.count < newBytes.count { newSpans.append(span) }
            } else {
                newBytes.append(contentsOf: bytes[match.start..<match.end])
                newSpans.append(contentsOf: old[match.start..<match.end])
            }
        }
        bytes = newBytes
        spans = newSpans
    }
}
