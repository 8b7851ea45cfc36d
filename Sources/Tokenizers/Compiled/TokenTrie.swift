/// A map from byte strings to numbers as a double-array trie: the child of node `s` for byte `c` is
/// `t = base[s] ^ c` if `check[t] == s`. It is stored as it is used, so reading one takes no building.
///
/// Source: Aoe, "An Efficient Digital Search Algorithm by Using a Double-Array Structure" (1989).
struct TokenTrie: Sendable {
    static let root = 0
    /// Pairs of base and check.
    private let units: ByteView
    /// For each node the value + 1, 0 = none.
    private let values: ByteView
    private let nodeCount: Int

    init?(units: ByteView, values: ByteView) {
        guard units.count % 8 == 0, units.count / 8 == values.count / 4, units.count > 0 else { return nil }
        self.units = units
        self.values = values
        nodeCount = units.count / 8
    }

    /// The child of a node, or -1.
    @inline(__always)
    func child(of node: Int, _ byte: UInt8) -> Int {
        let base = UInt32(truncatingIfNeeded: units.uint64(node))
        let next = Int(base ^ UInt32(byte))
        guard next < nodeCount, Int(units.uint64(next) >> 32) == node else { return -1 }
        return next
    }

    /// The value of a node.
    @inline(__always)
    func value(of node: Int) -> UInt32? {
        let value = values.uint32(node)
        return value == 0 ? nil : value - 1
    }

    /// The node of a prefix, or -1.
    func node(of bytes: some Sequence<UInt8>, from start: Int = TokenTrie.root) -> Int {
        var node = start
        for byte in bytes {
            node = child(of: node, byte)
            if node < 0 { return -1 }
        }
        return node
    }

    @inline(__always)
    func find(_ bytes: UnsafeBufferPointer<UInt8>, from start: Int = TokenTrie.root) -> UInt32? {
        var node = start
        for byte in bytes {
            node = child(of: node, byte)
            if node < 0 { return nil }
        }
        return value(of: node)
    }

    func find(_ bytes: [UInt8]) -> UInt32? { bytes.withUnsafeBufferPointer { find($0) } }

    /// The longest key that is a prefix of `bytes[start...]`.
    @inline(__always)
    func longestPrefix(
        of bytes: UnsafeBufferPointer<UInt8>, at start: Int, from root: Int = TokenTrie.root
    ) -> (value: UInt32, end: Int)? {
        var node = root
        var index = start
        var best: (UInt32, Int)?
        while index < bytes.count {
            node = child(of: node, bytes[index])
            if node < 0 { break }
            index += 1
            if let value = value(of: node) { best = (value, index) }
        }
        return best
    }
}

/// Builds the arrays of a `TokenTrie`.
struct TokenTrieBuilder {
    private var base: [UInt32] = []
    private var check: [UInt32] = []
    private var value: [UInt32] = []
    /// Unused units are linked in a ring; only those of the last blocks are kept in it, so that search stays short.
    private var next: [Int32] = []
    private var previous: [Int32] = []
    private var firstFree: Int32 = -1
    /// Two keys that are equal, if there are such.
    private var equal: (Int, Int)?
    private static let openBlocks = 16
    private static let unused = UInt32.max

    /// Builds the trie of all keys (which lie in `blob`). Of equal keys the last one counts.
    static func build(
        blob: [UInt8], keys: [Range<Int>], values: [UInt32]
    ) -> (units: [UInt8], values: [UInt8], equal: (Int, Int)?) {
        var builder = TokenTrieBuilder()
        blob.withUnsafeBufferPointer { builder.build($0, keys, values) }
        var units: [UInt8] = []
        var numbers: [UInt8] = []
        units.reserveCapacity(builder.base.count * 8)
        for index in builder.base.indices {
            units.appendLittleEndian(builder.base[index])
            units.appendLittleEndian(builder.check[index])
            numbers.appendLittleEndian(builder.value[index])
        }
        return (units, numbers, builder.equal)
    }

    static func trie(_ keys: [[UInt8]], values: [UInt32]) -> TokenTrie? {
        var blob: [UInt8] = []
        let ranges = keys.map { key in
            let start = blob.count
            blob += key
            return start..<blob.count
        }
        let built = build(blob: blob, keys: ranges, values: values)
        guard let units = ByteView(copying: built.units), let numbers = ByteView(copying: built.values) else { return nil }
        return TokenTrie(units: units, values: numbers)
    }

    private mutating func build(_ blob: UnsafeBufferPointer<UInt8>, _ keys: [Range<Int>], _ numbers: [UInt32]) {
        func precedes(_ a: Int, _ b: Int) -> Bool {
            let (left, right) = (keys[a], keys[b])
            var i = left.lowerBound
            var j = right.lowerBound
            while i < left.upperBound, j < right.upperBound {
                if blob[i] != blob[j] { return blob[i] < blob[j] }
                i += 1
                j += 1
            }
            return left.count == right.count ? a < b : left.count < right.count
        }
        let order = keys.indices.sorted(by: precedes)
        addBlock()
        unlink(0)
        check[0] = Self.unused
        var stack: [(node: Int, low: Int, high: Int, depth: Int)] = [(0, 0, order.count, 0)]
        var labels: [UInt8] = []
        var starts: [Int] = []
        while let (node, first, high, depth) = stack.popLast() {
            var low = first
            while low < high, keys[order[low]].count == depth {
                if low > first { equal = (order[low - 1], order[low]) }
                value[node] = numbers[order[low]] &+ 1
                low += 1
            }
            if low == high { continue }
            labels.removeAll(keepingCapacity: true)
            starts.removeAll(keepingCapacity: true)
            for position in low..<high {
                let label = blob[keys[order[position]].lowerBound + depth]
                if labels.last != label {
                    labels.append(label)
                    starts.append(position)
                }
            }
            let place = findPlace(labels)
            base[node] = UInt32(truncatingIfNeeded: place)
            for label in labels {
                let child = place ^ Int(label)
                unlink(child)
                check[child] = UInt32(truncatingIfNeeded: node)
            }
            starts.append(high)
            for (index, label) in labels.enumerated() {
                stack.append((place ^ Int(label), starts[index], starts[index + 1], depth + 1))
            }
        }
    }

    /// A base for which the units of all labels are unused.
    private mutating func findPlace(_ labels: [UInt8]) -> Int {
        if firstFree >= 0 {
            var candidate = firstFree
            repeat {
                let place = Int(candidate) ^ Int(labels[0])
                if labels.allSatisfy({ next[place ^ Int($0)] >= 0 }) { return place }
                candidate = next[Int(candidate)]
            } while candidate != firstFree
        }
        let place = base.count
        addBlock()
        return place
    }

    private mutating func addBlock() {
        let start = base.count
        // An old block is closed: its unused units stay unused.
        let closing = start - Self.openBlocks * 256
        if closing >= 0 { for unit in closing..<(closing + 256) where next[unit] >= 0 { unlink(unit) } }
        base.append(contentsOf: repeatElement(0, count: 256))
        check.append(contentsOf: repeatElement(Self.unused, count: 256))
        value.append(contentsOf: repeatElement(0, count: 256))
        next.append(contentsOf: repeatElement(-1, count: 256))
        previous.append(contentsOf: repeatElement(-1, count: 256))
        for unit in Int32(start)..<Int32(start + 256) {
            if firstFree < 0 {
                firstFree = unit
                next[Int(unit)] = unit
                previous[Int(unit)] = unit
            } else {
                let last = previous[Int(firstFree)]
                next[Int(last)] = unit
                previous[Int(unit)] = last
                next[Int(unit)] = firstFree
                previous[Int(firstFree)] = unit
            }
        }
    }

    private mutating func unlink(_ unit: Int) {
        let (after, before) = (next[unit], previous[unit])
        guard after >= 0 else { return }
        if Int(after) == unit {
            firstFree = -1
        } else {
            next[Int(before)] = after
            previous[Int(after)] = before
            if Int(firstFree) == unit { firstFree = after }
        }
        next[unit] = -1
        previous[unit] = -1
    }
}

extension [UInt8] {
    mutating func appendLittleEndian<Number: FixedWidthInteger>(_ number: Number) {
        Swift.withUnsafeBytes(of: number.littleEndian) { append(contentsOf: $0) }
    }
}
