import GraphIR
import Operators

/// What the nodes of one plan append to a key-value cache.
struct CacheUse: Sendable {
    /// Sequences and new tokens; nil where no node uses a cache.
    private let shape: [Int]?
    /// Slots that the plan fills.
    private let slots: Int

    /// - Throws: `RuntimeError` where nodes disagree on the new tokens, or sizes depend on data.
    init(_ bound: BoundGraph) throws {
        var shape: [Int]?
        var slots = 0
        for node in bound.nodes where type(of: node.op).usesCache {
            guard let tokens = node.inputs.first.flatMap({ $0.flatMap { bound.types[$0]?.shape } })?.prefix(2), shape == nil || shape == Array(tokens) else {
                throw RuntimeError(.invalidNode, "the nodes that use the key-value cache disagree on the new tokens")
            }
            shape = Array(tokens)
            if node.op is CachedAttention { slots += 1 }
        }
        if let node = bound.dynamicNodes.first(where: { type(of: $0.op).usesCache }) {
            throw RuntimeError(.invalidNode, "\(node.op.mnemonic) cannot use a key-value cache: its sizes depend on data")
        }
        self.shape = shape
        self.slots = slots
    }

    /// - Throws: `RuntimeError` where the plan does not fill every slot, which would leave holes behind.
    func appended(to cache: KeyValueCache) throws -> (batch: Int, tokens: Int) {
        guard let shape, shape.count == 2, slots == cache.layout.slots.count else {
            throw RuntimeError(
                .invalidNode, "the wanted outputs need \(slots) of the \(cache.layout.slots.count) cached attention layers; ask for the logits")
        }
        return (shape[0], shape[1])
    }
}
