import GraphIR
import Operators
import Tensors

/// How the operands and the output of an attention lie in memory: `[batch, heads, rows, width]` as the operator has them, or interleaved,
/// `[batch, rows, heads, width]`, as the projections before and after it have them. Reading them where they are saves four copies.
struct AttentionLayout: Hashable, Sendable {
    var interleavesQuery = false
    var interleavesKey = false
    var interleavesValue = false
    var interleavesOutput = false

    var isPlain: Bool { self == AttentionLayout() }
}

extension BoundGraph {
    /// Lets attention kernels read through the transposes before them and write through the one behind.
    ///
    ///     transpose(q) ─┐
    ///     transpose(k) ─┼─ attention ── transpose ──   becomes   q, k, v ── attention (interleaved) ──
    ///     transpose(v) ─┘
    ///
    /// Transposes that nothing else uses then have no uses left.
    ///
    /// - Parameters:
    ///   - wanted: Values that must exist after the run.
    ///   - hasKernel: Whether there is a kernel for a node in that layout.
    mutating func fuseAttentionLayouts(wanted: Set<Int>, hasKernel: (BoundNode, BoundGraph) -> Bool) {
        var producer: [Int: Int] = [:]
        var users: [Int: [Int]] = [:]
        for (position, node) in nodes.enumerated() {
            for output in node.outputs { producer[output] = position }
            for case let input? in node.inputs { users[input, default: []].append(position) }
        }
        let usedLater = wanted.union(dynamicNodes.flatMap { $0.inputs.compactMap { $0 } })
        func swapped(_ position: Int?) -> BoundNode? {
            guard let position, let op = nodes[position].op as? Transpose, op.permutation == [0, 2, 1, 3] else { return nil }
            return nodes[position]
        }
        var result = nodes
        /// Transposes that an attention before them does; their operands do not exist.
        var done: Set<Int> = []
        for (position, node) in nodes.enumerated() where node.op is ScaledDotProductAttention {
            var fused = node
            for operand in 0..<3 {
                guard operand < node.inputs.count, let input = node.inputs[operand],
                    let position = producer[input], !done.contains(position), let source = swapped(position)?.inputs.first.flatMap({ $0 })
                else { continue }
                fused.inputs[operand] = source
                switch operand {
                case 0: fused.attentionLayout.interleavesQuery = true
                case 1: fused.attentionLayout.interleavesKey = true
                default: fused.attentionLayout.interleavesValue = true
                }
            }
            if node.outputs.count == 1, !usedLater.contains(node.outputs[0]), let next = users[node.outputs[0]], next.count == 1,
                let transpose = swapped(next[0])
            {
                fused.outputs = transpose.outputs
                fused.attentionLayout.interleavesOutput = true
            }
            if fused.attentionLayout.isPlain || !hasKernel(fused, self) { continue }
            result[position] = fused
            if fused.attentionLayout.interleavesOutput, let next = users[node.outputs[0]]?.first {
                result[next].outputs = []
                done.insert(next)
            }
        }
        // A transpose that the attention took over is left without outputs.
        nodes = result.filter { !$0.outputs.isEmpty }
    }
}
