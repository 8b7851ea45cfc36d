import Tensors

/// Everything inference knows of a graph's values: types, and the elements of shape tensors and constants.
///
/// Built front to back; a converter extends it node by node, a pass recomputes it.
public struct FactTable: Sendable {
    private var facts: [ValueID: Fact] = [:]

    public init() {}

    /// Facts of a whole graph. Recorded types are trusted; values are inferred.
    public init(_ graph: Graph) throws {
        for node in graph.nodes { try record(node, in: graph) }
    }

    public func fact(_ id: ValueID, in graph: Graph) -> Fact {
        facts[id] ?? Fact(graph.type(id), constant: graph.constant(id))
    }

    public func operands(_ inputs: [ValueID?], in graph: Graph, symbolPrefix: String = "?") -> Operands {
        Operands(inputs.map { id in id.map { fact($0, in: graph) } }, symbolPrefix: symbolPrefix)
    }

    /// Adds a node to the graph with all that is known of its operands, and learns from it.
    @discardableResult
    public mutating func add(
        _ op: some Operator, _ inputs: [ValueID?], name: String = "", outputNames: [String] = [], to graph: inout Graph
    ) throws -> [ValueID] {
        let base = outputNames.first ?? (name.isEmpty ? op.mnemonic : name)
        let types = try op.inferTypes(operands(inputs, in: graph, symbolPrefix: graph.uniqueName(base)))
        let outputs = types.enumerated().map { index, type in
            graph.addValue(index < outputNames.count ? outputNames[index] : base, type)
        }
        let node = Node(op: op, inputs: inputs, outputs: outputs, name: name)
        graph.nodes.append(node)
        try record(node, in: graph)
        return outputs
    }

    /// Learns the elements of a node's outputs.
    public mutating func record(_ node: Node, in graph: Graph) throws {
        let values = try node.op.inferValues(operands(node.inputs, in: graph))
        for (output, value) in zip(node.outputs, values) {
            guard let value else { continue }
            let type = graph.type(output)
            // The elements tell the shape for certain; a recorded type from a file may leave it open.
            facts[output] = Fact(TensorType(type.dtype, shape: value.shape), value: value, constant: value.tensor(dtype: type.dtype))
        }
    }
}
