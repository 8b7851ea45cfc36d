import GraphIR
import Operators
import Tensors

/// What a graph keeps in a key-value cache.
struct CacheLayout: Sendable, Hashable {
    /// The keys and values of one attention layer.
    struct Slot: Sendable, Hashable {
        let heads: Int
        let keyWidth: Int
        let valueWidth: Int
    }

    /// By number, without gaps.
    let slots: [Slot]

    /// - Throws: `RuntimeError` where the graph has no cached attention, or one that no cache can serve.
    init(_ graph: Graph) throws {
        var found: [Int: Slot] = [:]
        var masks: Set<Int?> = []
        for node in graph.nodes where type(of: node.op).usesCache {
            func fail(_ reason: String) -> RuntimeError {
                .node(node, in: graph, RuntimeError(.invalidNode, "\(node.op.mnemonic) \"\(node.name)\": \(reason)"))
            }
            let maskOperand = node.op is CachedAttention ? 3 : 1
            masks.insert(maskOperand < node.inputs.count ? node.inputs[maskOperand]?.index : nil)
            guard let op = node.op as? CachedAttention else { continue }
            guard node.inputs.count >= 3, let k = node.inputs[1], let v = node.inputs[2], graph.type(k).rank == 4, graph.type(v).rank == 4,
                let heads = graph.type(k).dims[2].fixedValue, let keyWidth = graph.type(k).dims[3].fixedValue,
                let valueWidth = graph.type(v).dims[3].fixedValue, heads > 0, keyWidth > 0, valueWidth > 0
            else { throw fail("the number and width of its key heads are not known before it runs") }
            guard found.updateValue(Slot(heads: heads, keyWidth: keyWidth, valueWidth: valueWidth), forKey: op.slot) == nil else {
                throw fail("another node uses slot \(op.slot) too")
            }
        }
        guard !found.isEmpty else {
            throw RuntimeError(.invalidNode, "the graph has no cached_attention, so there is nothing to keep between runs; convert the model again without --no-optimize")
        }
        guard masks.count == 1 else { throw RuntimeError(.invalidNode, "the nodes that use the cache do not share one mask") }
        slots = try (0..<found.count).map { number in
            guard let slot = found[number] else { throw RuntimeError(.invalidNode, "no cached_attention has slot \(number) of \(found.count)") }
            return slot
        }
    }

    /// Bytes of keys and values for one position of one sequence.
    ///
    /// - Throws: `RuntimeError` beyond any memory.
    func bytesPerPosition() throws -> Int {
        try slots.reduce(0) { sum, slot in
            let (width, first) = slot.keyWidth.addingReportingOverflow(slot.valueWidth)
            let (count, second) = width.multipliedReportingOverflow(by: slot.heads)
            let (bytes, third) = count.multipliedReportingOverflow(by: MemoryLayout<Float>.size)
            let (total, fourth) = bytes.addingReportingOverflow(sum)
            guard !first, !second, !third, !fourth else { throw RuntimeError(.outOfMemory, "one position of the key-value cache is too large") }
            return total
        }
    }
}
