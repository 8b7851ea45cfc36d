/// The merges of a BPE model: from a pair of ids to rank and merged id. An open hash table, stored as it is used:
/// slots of 16 bytes (left, right, rank, merged; merged 2^32 - 1 = empty), their number a power of two.
struct MergeTable: Sendable {
    private let slots: ByteView
    private let mask: Int

    init(_ slots: ByteView) throws {
        let count = slots.count / 16
        guard slots.count % 16 == 0, count > 0, count & (count - 1) == 0 else {
            throw TokenizerError.malformedCompiled(reason: "the merge table has a wrong size")
        }
        self.slots = slots
        mask = count - 1
    }

    @inline(__always)
    private static func hash(_ left: UInt32, _ right: UInt32) -> Int {
        let mixed = (UInt64(left) << 32 | UInt64(right)) &* 0x9E37_79B9_7F4A_7C15
        return Int(truncatingIfNeeded: mixed >> 32)
    }

    @inline(__always)
    func find(_ left: UInt32, _ right: UInt32) -> (rank: UInt32, merged: UInt32)? {
        let key = UInt64(left) | UInt64(right) << 32
        var slot = Self.hash(left, right) & mask
        // A damaged table may have no empty slot.
        for _ in 0...mask {
            let value = slots.uint64(slot * 2 + 1)
            if value >> 32 == UInt64(UInt32.max) { return nil }
            if slots.uint64(slot * 2) == key { return (UInt32(truncatingIfNeeded: value), UInt32(value >> 32)) }
            slot = (slot + 1) & mask
        }
        return nil
    }

    /// The table of merges in order of rank; of equal pairs the last one counts.
    static func build(_ merges: [(left: UInt32, right: UInt32, merged: UInt32)]) -> [UInt8] {
        var count = 16
        while count < merges.count * 2 { count *= 2 }
        let mask = count - 1
        var keys = [UInt64](repeating: 0, count: count)
        var values = [UInt64](repeating: UInt64(UInt32.max) << 32, count: count)
        for (rank, merge) in merges.enumerated() {
            let key = UInt64(merge.left) | UInt64(merge.right) << 32
            var slot = hash(merge.left, merge.right) & mask
            while values[slot] >> 32 != UInt64(UInt32.max), keys[slot] != key { slot = (slot + 1) & mask }
            keys[slot] = key
            values[slot] = UInt64(rank) | UInt64(merge.merged) << 32
        }
        var output: [UInt8] = []
        output.reserveCapacity(count * 16)
        for slot in 0..<count {
            output.appendLittleEndian(keys[slot])
            output.appendLittleEndian(values[slot])
        }
        return output
    }
}
