extension Encoding {
    func recordsOf(_ tokens: [SpecialToken], typeID: UInt32, isPadding: Bool, surfaces: inout [UInt8]) -> [Record] {
        tokens.map { token in
            var record = Record(
                id: token.id, typeID: typeID, start: 0, end: 0, word: -1, sequence: -1, isSpecial: true,
                isPadding: isPadding, surface: -1, surfaceCount: 0)
            if table.token(token.id) != token.content {
                record.surface = Int32(truncatingIfNeeded: surfaces.count)
                record.surfaceCount = Int32(truncatingIfNeeded: token.content.count)
                surfaces += token.content
            }
            return record
        }
    }

    /// An encoding of special tokens alone.
    func special(_ tokens: [SpecialToken], typeID: UInt32) -> Encoding {
        var encoding = Encoding(table: table)
        encoding.records = recordsOf(tokens, typeID: typeID, isPadding: false, surfaces: &encoding.surfaces)
        return encoding
    }

    /// This encoding between special tokens; the same is done to the overflowing parts.
    func surrounded(before: SpecialToken?, after: SpecialToken, typeID: UInt32) -> Encoding {
        var result = self
        let first = recordsOf(before.map { [$0] } ?? [], typeID: typeID, isPadding: false, surfaces: &result.surfaces)
        let last = recordsOf([after], typeID: typeID, isPadding: false, surfaces: &result.surfaces)
        result.records = first + records + last
        result.overflowing = overflowing.map { $0.surrounded(before: before, after: after, typeID: typeID) }
        return result
    }

    mutating func setTypeID(_ typeID: UInt32, includingOverflow: Bool) {
        for index in records.indices { records[index].typeID = typeID }
        guard includingOverflow else { return }
        for index in overflowing.indices { overflowing[index].setTypeID(typeID, includingOverflow: true) }
    }

    /// Says which sequence of a pair this is; the text moves with it.
    mutating func setSequenceID(_ sequence: Int) {
        for index in records.indices { records[index].sequence = Int8(truncatingIfNeeded: sequence) }
        if sources[sequence] == nil { sources.swapAt(0, 1) }
        for index in overflowing.indices { overflowing[index].setSequenceID(sequence) }
    }

    /// Cuts the encoding into parts of at most `length` tokens; the first stays, the others are overflowing parts if those
    /// are wanted.
    mutating func truncate(to length: Int, _ truncation: Truncation) throws {
        guard length < count else { return }
        let whole = self
        let stride = truncation.stride
        truncatedTokenCount += count - length
        func part(_ range: Range<Int>) -> Encoding {
            var encoding = Encoding(table: table)
            encoding.records = Array(whole.records[range])
            encoding.surfaces = whole.surfaces
            encoding.sources = whole.sources
            return encoding
        }
        if length == 0 {
            records = []
            if truncation.keepsOverflowing { overflowing = [part(0..<whole.count)] }
            return
        }
        guard stride < length else {
            throw TokenizerError.truncation(reason: "stride \(stride) is not below the \(length) tokens that may stay")
        }
        guard truncation.keepsOverflowing else {
            records = Array(truncation.direction == .right ? records.prefix(length) : records.suffix(length))
            return
        }
        var parts: [Range<Int>] = []
        let step = length - stride
        switch truncation.direction {
        case .right:
            var start = 0
            while true {
                let stop = min(start + length, whole.count)
                parts.append(start..<stop)
                if stop == whole.count { break }
                start += step
            }
        case .left:
            var stop = whole.count
            while true {
                let start = max(stop - length, 0)
                parts.append(start..<stop)
                if start == 0 { break }
                stop -= step
            }
        }
        records = Array(whole.records[parts[0]])
        overflowing = parts.dropFirst().map(part)
    }

    /// Appends another encoding. The overflowing parts of both are combined with all parts of the other, each
    /// combination keeping the overflowing parts of what it was made of (as in the reference).
    mutating func merge(_ other: Encoding) {
        var combined: [Encoding] = []
        for part in overflowing {
            for next in [other] + other.overflowing {
                var merged = part
                merged.merge(next)
                combined.append(merged)
            }
        }
        for next in other.overflowing {
            var merged = self
            merged.merge(next)
            combined.append(merged)
        }
        let shift = Int32(truncatingIfNeeded: surfaces.count)
        let first = records.count
        records += other.records
        if shift > 0, !other.surfaces.isEmpty {
            for index in first..<records.count where records[index].surface >= 0 { records[index].surface += shift }
        }
        surfaces += other.surfaces
        for index in sources.indices where sources[index] == nil { sources[index] = other.sources[index] }
        truncatedTokenCount += other.truncatedTokenCount
        overflowing = combined
    }

    mutating func pad(to length: Int, _ token: SpecialToken, typeID: UInt32, _ direction: Padding.Direction) {
        for index in overflowing.indices { overflowing[index].pad(to: length, token, typeID: typeID, direction) }
        guard count < length else { return }
        let one = recordsOf([token], typeID: typeID, isPadding: true, surfaces: &surfaces)
        let padding = Array(repeating: one[0], count: length - count)
        records = direction == .left ? padding + records : records + padding
    }

    /// Moves offsets inwards past the spaces of byte-level tokens. A single space in front of the first token counts as
    /// added, not as part of the text, when `hasPrefixSpace`.
    func trimmingSpaces(hasPrefixSpace: Bool) -> Encoding {
        var result = self
        for index in result.records.indices {
            let record = records[index]
            let (leading, trailing) = spaces(record)
            guard leading > 0 || trailing > 0, record.sequence >= 0, let source = sources[Int(record.sequence)] else {
                continue
            }
            source.bytes.withUnsafeBufferPointer { bytes in
                let base = wordStart(record)
                var start = Int(record.start)
                var end = Int(record.end)
                let isFirst = index == 0 || start == base
                let skipped = isFirst && hasPrefixSpace && leading == 1 ? 0 : leading
                for _ in 0..<skipped where start < end { start += UTF8Bytes.scalar(bytes, at: start).length }
                start = min(start, end)
                if trailing > 0 {
                    var moved = end
                    var removed = 0
                    while removed < trailing, moved > base {
                        moved -= UTF8Bytes.scalar(bytes, before: moved).length
                        removed += 1
                    }
                    if removed == trailing { end = max(moved, start) }
                }
                result.records[index].start = UInt32(truncatingIfNeeded: start)
                result.records[index].end = UInt32(truncatingIfNeeded: end)
            }
        }
        result.overflowing = overflowing.map { $0.trimmingSpaces(hasPrefixSpace: hasPrefixSpace) }
        return result
    }

    /// How many spaces, visible or not, a token has at its start and end.
    private func spaces(_ record: Record) -> (leading: Int, trailing: Int) {
        withTokenBytes(record) { bytes in
            func isSpace(_ scalar: UInt32) -> Bool {
                scalar == 0x120 || ScalarTable.shared.has(ScalarTable.whitespace, scalar)
            }
            var leading = 0
            var index = 0
            while index < bytes.count {
                let (scalar, length) = UTF8Bytes.scalar(bytes, at: index)
                if !isSpace(scalar) { break }
                leading += 1
                index += length
            }
            var trailing = 0
            var end = bytes.count
            while end > 0 {
                let (scalar, length) = UTF8Bytes.scalar(bytes, before: end)
                if !isSpace(scalar) { break }
                trailing += 1
                end -= length
            }
            return (leading, trailing)
        }
    }
}
