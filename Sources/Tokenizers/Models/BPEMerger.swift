/// What two neighbouring symbols become.
protocol MergeRule {
    /// The merge of the symbols `left` and `right`, which is what the piece has at `start..<end`; the lowest rank comes first.
    func merge(_ left: UInt32, _ right: UInt32, at start: Int, _ end: Int) -> (rank: UInt32, merged: UInt32)?
}

extension MergeTable: MergeRule {
    @inline(__always)
    func merge(_ left: UInt32, _ right: UInt32, at start: Int, _ end: Int) -> (rank: UInt32, merged: UInt32)? { find(left, right) }
}

/// The symbols of one piece and the merges that wait, in a heap by rank and then place. The work grows with
/// n log n, so that a piece of a megabyte is no problem.
struct BPEMerger {
    /// A symbol that is no token.
    static let noToken = UInt32.max

    private struct Symbol {
        var id: UInt32
        var start: Int32
        /// Bytes of the piece; 0 when the symbol was merged into the one before it.
        var length: Int32
        var previous: Int32
        var next: Int32
    }

    private struct Merge {
        /// Rank << 32 | place.
        var key: UInt64
        var merged: UInt32
    }

    private var symbols: [Symbol] = []
    private var end: Int32 = 0
    private var heap: [Merge] = []

    mutating func removeAll() {
        symbols.removeAll(keepingCapacity: true)
        heap.removeAll(keepingCapacity: true)
        end = 0
    }

    mutating func add(_ id: UInt32, length: Int) {
        let index = Int32(truncatingIfNeeded: symbols.count)
        if index > 0 { symbols[Int(index) - 1].next = index }
        symbols.append(Symbol(id: id, start: end, length: Int32(truncatingIfNeeded: length), previous: index - 1, next: -1))
        end += Int32(truncatingIfNeeded: length)
    }

    mutating func merge(_ rule: some MergeRule) {
        guard symbols.count > 1 else { return }
        for place in 0..<(symbols.count - 1) { push(place, rule) }
        while let top = pop() {
            let place = Int(top.key & 0xFFFF_FFFF)
            let symbol = symbols[place]
            if symbol.length == 0 || symbol.next < 0 { continue }
            let right = symbols[Int(symbol.next)]
            // The pair may have changed since the merge was pushed.
            guard let found = find(symbol, right, rule), found.merged == top.merged else { continue }
            symbols[place].id = top.merged
            symbols[place].length += right.length
            symbols[place].next = right.next
            symbols[Int(symbol.next)].length = 0
            if right.next >= 0 { symbols[Int(right.next)].previous = Int32(truncatingIfNeeded: place) }
            if symbol.previous >= 0 { push(Int(symbol.previous), rule) }
            if right.next >= 0 { push(place, rule) }
        }
    }

    /// Appends the symbols that are left, without those that are no tokens.
    func append(to tokens: inout [ModelToken]) {
        for symbol in symbols where symbol.length > 0 && symbol.id != Self.noToken {
            tokens.append(ModelToken(symbol.id, Int(symbol.start), Int(symbol.start + symbol.length)))
        }
    }

    /// Calls `body` with the id and the range of each symbol that is left.
    func forEachSymbol(_ body: (_ id: UInt32, _ start: Int, _ end: Int) throws -> Void) rethrows {
        for symbol in symbols where symbol.length > 0 { try body(symbol.id, Int(symbol.start), Int(symbol.start + symbol.length)) }
    }

    @inline(__always)
    private func find(_ left: Symbol, _ right: Symbol, _ rule: some MergeRule) -> (rank: UInt32, merged: UInt32)? {
        rule.merge(left.id, right.id, at: Int(left.start), Int(right.start + right.length))
    }

    private mutating func push(_ place: Int, _ rule: some MergeRule) {
        let symbol = symbols[place]
        guard let found = find(symbol, symbols[Int(symbol.next)], rule) else { return }
        heap.append(Merge(key: UInt64(found.rank) << 32 | UInt64(place), merged: found.merged))
        heap.withUnsafeMutableBufferPointer { heap in
            var child = heap.count - 1
            while child > 0 {
                let parent = (child - 1) / 2
                if heap[parent].key <= heap[child].key { break }
                heap.swapAt(parent, child)
                child = parent
            }
        }
    }

    private mutating func pop() -> Merge? {
        guard let first = heap.first, let last = heap.popLast() else { return nil }
        if heap.isEmpty { return first }
        heap.withUnsafeMutableBufferPointer { heap in
            heap[0] = last
            var parent = 0
            while true {
                var child = parent * 2 + 1
                if child >= heap.count { break }
                if child + 1 < heap.count, heap[child + 1].key < heap[child].key { child += 1 }
                if heap[parent].key <= heap[child].key { break }
                heap.swapAt(parent, child)
                parent = child
            }
        }
        return first
    }
}

/// Remembers the tokens of words that were seen, so that a frequent word is merged once.
struct WordCache {
    private struct Slot {
        var hash: UInt64 = 0
        var key: Int32 = 0
        var keyCount: Int32 = 0
        var tokens: Int32 = 0
        var tokenCount: Int32 = -1
    }

    private static let slotCount = 1 << 13
    private static let maximumKey = 64
    private static let maximumBytes = 1 << 19
    private var slots: [Slot] = []
    private var keys: [UInt8] = []
    private var tokens: [ModelToken] = []

    @inline(__always)
    private static func hash(_ word: UnsafeBufferPointer<UInt8>) -> UInt64 {
        var hash: UInt64 = 0xCBF2_9CE4_8422_2325
        for byte in word { hash = (hash ^ UInt64(byte)) &* 0x0000_0100_0000_01B3 }
        return hash ^ hash >> 29
    }

    /// Appends the tokens of a word if they are known.
    func find(_ word: UnsafeBufferPointer<UInt8>, into output: inout [ModelToken]) -> Bool {
        guard !slots.isEmpty, word.count <= Self.maximumKey else { return false }
        let hash = Self.hash(word)
        let slot = slots[Int(truncatingIfNeeded: hash) & (Self.slotCount - 1)]
        guard slot.tokenCount >= 0, slot.hash == hash, Int(slot.keyCount) == word.count else { return false }
        for index in 0..<word.count where keys[Int(slot.key) + index] != word[index] { return false }
        output.append(contentsOf: tokens[Int(slot.tokens)..<Int(slot.tokens + slot.tokenCount)])
        return true
    }

    mutating func insert(_ word: UnsafeBufferPointer<UInt8>, _ found: ArraySlice<ModelToken>) {
        guard word.count <= Self.maximumKey else { return }
        if slots.isEmpty || keys.count > Self.maximumBytes || tokens.count > Self.maximumBytes {
            slots = Array(repeating: Slot(), count: Self.slotCount)
            keys.removeAll(keepingCapacity: true)
            tokens.removeAll(keepingCapacity: true)
        }
        let hash = Self.hash(word)
        slots[Int(truncatingIfNeeded: hash) & (Self.slotCount - 1)] = Slot(
            hash: hash, key: Int32(keys.count), keyCount: Int32(word.count), tokens: Int32(tokens.count),
            tokenCount: Int32(found.count))
        keys.append(contentsOf: word)
        tokens.append(contentsOf: found)
    }
}
