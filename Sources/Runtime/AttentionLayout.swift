import GraphIR
import Operators
import Tensors

/// How an operand or the output of an attention lies in memory: of `[batch, heads, rows, width]`, strides in elements. Projections have the heads of a
/// row behind one another, `[batch, rows, heads, width]`, perhaps as some columns of a wider product; reading them where they are saves copies.
struct AttentionView: Hashable, Sendable {
    /// `[batch, heads, rows, width]`.
    let sizes: [Int]
    let batchStride: Int
    let headStride: Int
    let rowStride: Int
    /// The first element.
    let offset: Int

    init(sizes: [Int], batchStride: Int, headStride: Int, rowStride: Int, offset: Int) {
        (self.sizes, self.batchStride, self.headStride, self.rowStride, self.offset) = (sizes, batchStride, headStride, rowStride, offset)
    }

    /// As the operator has it; nil for another rank.
    init?(plain shape: [Int]) {
        guard shape.count == 4 else { return nil }
        self.init(sizes: shape, batchStride: shape[1] * shape[2] * shape[3], headStride: shape[2] * shape[3], rowStride: shape[3], offset: 0)
    }

    /// `[batch, rows, heads, width]`, as columns from `offset` on of rows of `rowStride`.
    init?(interleaved shape: [Int], rowStride: Int? = nil, offset: Int = 0) {
        guard shape.count == 4 else { return nil }
        let stride = rowStride ?? shape[2] * shape[3]
        self.init(
            sizes: [shape[0], shape[2], shape[1], shape[3]], batchStride: shape[1] * stride, headStride: shape[3], rowStride: stride, offset: offset)
    }

    /// Whether all of it lies within so many elements.
    func fits(_ count: Int) -> Bool {
        if sizes.contains(0) { return true }
        return offset >= 0 && start(sizes[0] - 1, sizes[1] - 1, sizes[2] - 1) + sizes[3] <= count
    }

    /// The element where a row starts.
    func start(_ batch: Int, _ head: Int, _ row: Int) -> Int { offset + batch * batchStride + head * headStride + row * rowStride }
}

/// The views of q, k, v and the output that are not plain.
struct AttentionLayout: Hashable, Sendable {
    var operands: [AttentionView?] = [nil, nil, nil]
    var output: AttentionView?

    var isPlain: Bool { self == AttentionLayout() }
}

extension BoundGraph {
    /// Lets attention kernels read through the transposes, reshapes and slices before them and write through the transpose behind.
    ///
    ///     x ── slice ── reshape ── transpose ── attention ── transpose ──   becomes   x ── attention (views) ──
    ///
    /// Nodes that nothing else uses then have no uses left.
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
        /// Transposes that an attention before them does; their operands do not exist.
        var done: Set<Int> = []
        func source(_ value: Int) -> (node: BoundNode, input: Int)? {
            guard let position = producer[value], !done.contains(position), let input = nodes[position].inputs.first ?? nil else { return nil }
            return (nodes[position], input)
        }
        func swapped(_ node: BoundNode) -> Bool { (node.op as? Transpose)?.permutation == [0, 2, 1, 3] }
        var result = nodes
        for (position, node) in nodes.enumerated() where node.op is ScaledDotProductAttention {
            var fused = node
            for operand in 0..<min(3, node.inputs.count) {
                guard let input = node.inputs[operand], let transpose = source(input), swapped(transpose.node), let type = types[transpose.input],
                    let view = AttentionView(interleaved: type.shape)
                else { continue }
                fused.inputs[operand] = transpose.input
                fused.attentionLayout.operands[operand] = view
                if let reshape = source(transpose.input), let found = columns(of: reshape.node, reshape.input, view, source) {
                    fused.inputs[operand] = found.value
                    fused.attentionLayout.operands[operand] = found.view
                }
            }
            var next: Int?
            if node.outputs.count == 1, !usedLater.contains(node.outputs[0]), let only = users[node.outputs[0]], only.count == 1, swapped(nodes[only[0]]),
                let type = types[nodes[only[0]].outputs[0]], let view = AttentionView(interleaved: type.shape)
            {
                next = only[0]
                fused.outputs = nodes[only[0]].outputs
                fused.attentionLayout.output = view
            }
            if fused.attentionLayout.isPlain || !hasKernel(fused, self) { continue }
            result[position] = fused
            if let next {
                result[next].outputs = []
                done.insert(next)
            }
        }
        // A transpose that the attention took over is left without outputs.
        nodes = result.filter { !$0.outputs.isEmpty }
    }

    /// The product whose columns a reshape to heads takes: `reshape(slice(x, columns), [batch, rows, heads, width])`.
    private func columns(
        of reshape: BoundNode, _ sliced: Int, _ view: AttentionView, _ source: (Int) -> (node: BoundNode, input: Int)?
    ) -> (value: Int, view: AttentionView)? {
        guard reshape.op is Reshape, let slice = source(sliced), let op = slice.node.op as? Slice, op.axes.count == 1, slice.node.inputs.count == 3,
            let whole = types[slice.input]?.shape, let part = types[sliced]?.shape, whole.count == part.count, let width = whole.last,
            (try? Shape.normalize(axis: op.axes[0], rank: whole.count)) == whole.count - 1, part.last == view.sizes[1] * view.sizes[3],
            types[slice.input]?.count == view.sizes[0] * view.sizes[2] * width,
            let start = slice.node.inputs[1].flatMap({ constant($0) })?.integers().first, start >= 0, start <= width - (part.last ?? 0),
            let interleaved = AttentionView(
                interleaved: [view.sizes[0], view.sizes[2], view.sizes[1], view.sizes[3]], rowStride: width, offset: Int(start))
        else { return nil }
        return (slice.input, interleaved)
    }
}
