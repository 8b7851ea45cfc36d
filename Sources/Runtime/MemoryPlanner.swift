import Tensors

/// Places blocks with known lifetimes in one address range.
///
/// Greedy by size, the largest first, each at the offset where it leaves the smallest gap among the blocks that live at the same
/// time (Pisarchyk and Lee, "Efficient Memory Management for Deep Neural Net Inference", 2020).
struct MemoryPlanner {
    struct Block {
        let byteCount: Int
        /// The steps during which it holds something, both inclusive.
        let first: Int
        let last: Int
    }

    private var blocks: [Block] = []

    /// Returns the block's number.
    mutating func add(_ block: Block) -> Int {
        blocks.append(block)
        return blocks.count - 1
    }

    /// Offsets by block number and the size of the whole; nil where it exceeds `Int`.
    func place() -> (offsets: [Int], byteCount: Int)? {
        var offsets = [Int](repeating: 0, count: blocks.count)
        var placed: [(index: Int, offset: Int, end: Int)] = []  // by offset
        var total = 0
        let order = blocks.indices.sorted { (blocks[$0].byteCount, $1) > (blocks[$1].byteCount, $0) }
        for index in order {
            let block = blocks[index]
            let (padded, overflow) = block.byteCount.addingReportingOverflow(Storage.alignment - 1)
            guard !overflow else { return nil }
            let size = padded / Storage.alignment * Storage.alignment
            var best: (offset: Int, gap: Int)?
            var cursor = 0
            for other in placed where blocks[other.index].first <= block.last && block.first <= blocks[other.index].last {
                let gap = other.offset - cursor
                if gap >= size, gap < best?.gap ?? .max { best = (cursor, gap) }
                cursor = max(cursor, other.end)
            }
            let offset = best?.offset ?? cursor
            let (end, endOverflow) = offset.addingReportingOverflow(size)
            guard !endOverflow else { return nil }
            offsets[index] = offset
            total = max(total, end)
            let position = placed.firstIndex { $0.offset > offset } ?? placed.count
            placed.insert((index, offset, end), at: position)
        }
        return (offsets, total)
    }
}
