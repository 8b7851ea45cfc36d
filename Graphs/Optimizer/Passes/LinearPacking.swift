import GraphIR
import Operators
import Tensors

/// Dense layers of one input become one, which reads the input once and waits for its threads once:
///
///     q = linear(x, Wq)   k = linear(x, Wk)   v = linear(x, Wv)   ->   p = linear(x, [Wq Wk Wv])   q, k, v = slices of p
///     linear<silu>(x, Wg) * linear(x, Wu)                         ->   gated_activation<silu>(linear(x, [Wg Wu]))
///
/// In graphs that generate; in others only the queries, keys and values of attentions, which read the slices where they are: any other slice would be a
/// copy, and the products are large enough by themselves.
struct LinearPacking: Pass {
    let name = "linear_packing"

    func run(_ graph: inout Graph, _ report: inout OptimizationReport) throws -> Int {
        if graph.nodes.contains(where: { $0.op is CachedAttention }) { return try packGates(&graph) + packProjections(&graph) { _ in true } }
        let uses = graph.uses()
        let outputs = Set(graph.outputs.map(\.value))
        let nodes = graph.nodes
        func only<Op: Operator>(_ type: Op.Type, after value: ValueID?) -> Node? {
            guard let value, !outputs.contains(value), let users = uses[value], users.count == 1, nodes[users[0]].op is Op else { return nil }
            return nodes[users[0]]
        }
        return try packProjections(&graph) { node in
            guard let heads = only(Reshape.self, after: node.outputs.first), let moved = only(Transpose.self, after: heads.outputs.first),
                (moved.op as? Transpose)?.permutation == [0, 2, 1, 3], let part = moved.outputs.first, let users = uses[part]
            else { return false }
            return !outputs.contains(part) && users.allSatisfy { nodes[$0].op is ScaledDotProductAttention }
        }
    }

    // MARK: Gates

    private func packGates(_ graph: inout Graph) throws -> Int {
        let uses = graph.uses()
        let outputs = Set(graph.outputs.map(\.value))
        let definitions = graph.definitions()
        var removed: Set<Int> = []
        var replacements: [Int: [Node]] = [:]
        let nodes = graph.nodes
        func layer(_ id: ValueID?) -> Int? {
            guard let id, uses[id]?.count == 1, !outputs.contains(id), let number = definitions[id], Member(nodes[number], in: graph) != nil else { return nil }
            return number
        }
        for (number, node) in nodes.enumerated() {
            guard (node.op as? Binary)?.kind == .mul, node.inputs.count == 2, let a = layer(node.inputs[0]), let b = layer(node.inputs[1]), a != b,
                let left = nodes[a].op as? Linear, let right = nodes[b].op as? Linear, (left.activation == .none) != (right.activation == .none)
            else { continue }
            let (gate, value) = left.activation == .none ? (b, a) : (a, b)
            let activation = left.activation == .none ? right.activation : left.activation
            guard let packed = try pack([gate, value].map { nodes[$0] }, &graph) else { continue }
            removed.formUnion([gate, value])
            let gated = Node(op: GatedActivation(activation), inputs: [packed.output], outputs: node.outputs, name: nodes[gate].name)
            replacements[number] = [packed.node, gated]
        }
        rebuild(&graph, nodes, removed, replacements)
        return replacements.count
    }

    // MARK: Projections

    private func packProjections(_ graph: inout Graph, where isWanted: (Node) -> Bool) throws -> Int {
        let nodes = graph.nodes
        var groups: [Member: [Int]] = [:]
        var order: [Member] = []
        for (number, node) in nodes.enumerated() {
            guard let member = Member(node, in: graph), (node.op as? Linear)?.activation == Activation.none, isWanted(node) else { continue }
            if groups[member] == nil { order.append(member) }
            groups[member, default: []].append(number)
        }
        // Layers may share their weights, as ALBERT's do: then they share the packed ones too.
        var sharers: [[ValueID?]: Int] = [:]
        for numbers in groups.values { sharers[numbers.map { nodes[$0].inputs[1] }, default: 0] += 1 }
        var stored: [[ValueID?]: [ValueID?]] = [:]
        var replacements: [Int: [Node]] = [:]
        for member in order {
            guard let numbers = groups[member], numbers.count > 1 else { continue }
            let layers = numbers.map { nodes[$0] }
            let parameters = layers.flatMap { $0.inputs.dropFirst() }
            guard let packed = try pack(layers, &graph, sharers: sharers[layers.map { $0.inputs[1] }] ?? 1, stored: stored[parameters]) else { continue }
            stored[parameters] = Array(packed.node.inputs.dropFirst())
            var start = 0
            for (place, number) in numbers.enumerated() {
                let node = nodes[number]
                let width = graph.type(node.outputs[0]).dims.last?.fixedValue ?? 0
                let bounds = try [start, start + width].map { graph.addConstant("bound", try Tensor(integers: [Int64($0)], shape: [1])) }
                let slice = Node(op: Slice(axes: [-1]), inputs: [packed.output] + bounds, outputs: node.outputs, name: node.name)
                replacements[number] = place == 0 ? [packed.node, slice] : [slice]
                start += width
            }
        }
        rebuild(&graph, nodes, [], replacements)
        return replacements.count
    }

    private func rebuild(_ graph: inout Graph, _ nodes: [Node], _ removed: Set<Int>, _ replacements: [Int: [Node]]) {
        graph.nodes = nodes.enumerated().flatMap { number, node in
            removed.contains(number) ? [] : replacements[number] ?? [node]
        }
    }

    /// What layers must have in common.
    private struct Member: Hashable {
        let x: ValueID
        let layout: Linear.Layout
        let dtype: DType
        let inner: Int
        let hasBias: Bool
        let hasScale: Bool

        /// nil for a node that cannot be packed.
        init?(_ node: Node, in graph: Graph) {
            guard let op = node.op as? Linear, let x = node.inputs[0], let weight = node.inputs[1].flatMap({ graph.constant($0) }), weight.rank == 2,
                node.inputs.count < 4 || node.inputs[3] == nil
            else { return nil }
            let bias = node.inputs.count > 2 ? node.inputs[2] : nil
            let scale = node.inputs.count > 4 ? node.inputs[4] : nil
            for vector in [bias, scale] { if let vector, graph.constant(vector)?.dtype != .f32 { return nil } }
            self.x = x
            layout = op.layout
            dtype = weight.dtype
            inner = weight.shape[op.layout == .output_input ? 1 : 0]
            hasBias = bias != nil
            hasScale = scale != nil
        }
    }

    /// One layer with the rows of several; nil where they differ in kind, or a weight serves others too and would be stored twice.
    ///
    /// - Parameters:
    ///   - sharers: How many groups of layers have these weights.
    ///   - stored: The packed operands behind x of an earlier one of them.
    private func pack(_ layers: [Node], _ graph: inout Graph, sharers: Int = 1, stored: [ValueID?]? = nil) throws -> (node: Node, output: ValueID)? {
        guard let first = layers.first, let member = Member(first, in: graph) else { return nil }
        let uses = graph.uses()
        var weights: [Tensor] = []
        var biases: [Float] = []
        var scales: [Float] = []
        for layer in layers {
            guard Member(layer, in: graph) == member, let id = layer.inputs[1], uses[id]?.count == sharers, let weight = graph.constant(id) else { return nil }
            weights.append(weight)
            if member.hasBias, let bias = layer.inputs[2].flatMap({ graph.constant($0) }) { biases += bias.floats() }
            if member.hasScale, let scale = layer.inputs[4].flatMap({ graph.constant($0) }) { scales += scale.floats() }
        }
        let name = layers.map { $0.name.split(separator: ".").last.map(String.init) ?? $0.name }.joined(separator: "+")
        let prefix = first.name.split(separator: ".").dropLast().joined(separator: ".")
        let full = prefix.isEmpty ? name : "\(prefix).\(name)"
        var inputs: [ValueID?] = [member.x]
        if let stored {
            inputs += stored
        } else {
            let (all, width) = try joined(weights, member)
            inputs.append(graph.addConstant("\(full).weight", all))
            if member.hasBias { inputs.append(graph.addConstant("\(full).bias", try Tensor(floats: biases, shape: [width]))) }
            if member.hasScale {
                inputs += Array(repeating: nil, count: 4 - inputs.count) + [graph.addConstant("\(full).scale", try Tensor(floats: scales, shape: [width]))]
            }
        }
        let op = Linear(layout: member.layout)
        let type = try op.inferTypes(graph.operands(inputs, symbolPrefix: full))[0]
        let output = graph.addValue(full, type)
        return (Node(op: op, inputs: inputs, outputs: [output], name: full), output)
    }

    /// Weights side by side, and how many outputs they have together.
    private func joined(_ weights: [Tensor], _ member: Member) throws -> (weight: Tensor, width: Int) {
        let isRows = member.layout == .output_input
        let width = weights.reduce(0) { $0 + $1.shape[isRows ? 0 : 1] }
        let tensor = try Tensor(dtype: member.dtype, shape: isRows ? [width, member.inner] : [member.inner, width]) { target in
            // Rows of outputs lie behind one another as they are; of rows of inputs each weight has a part.
            let rows = isRows ? 1 : member.inner
            var offset = 0
            for row in 0..<rows {
                for weight in weights {
                    let count = weight.byteCount / max(rows, 1)
                    weight.withUnsafeBytes {
                        UnsafeMutableRawBufferPointer(rebasing: target[offset..<offset + count])
                            .copyMemory(from: UnsafeRawBufferPointer(rebasing: $0[row * count..<(row + 1) * count]))
                    }
                    offset += count
                }
            }
        }
        return (tensor, width)
    }
}
