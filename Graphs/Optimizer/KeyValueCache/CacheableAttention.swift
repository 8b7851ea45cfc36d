import GraphIR
import Operators
import Tensors

/// An attention whose keys and values are those of the past and of the new tokens, and whose mask says what a cache's causal attention does.
struct CacheableAttention {
    /// The node's number.
    let node: Int
    /// Of the new tokens, `[batch, heads, sequence, width]`.
    let query: ValueID
    let key: ValueID
    let value: ValueID
    /// The past inputs; nil where the graph has none.
    let pasts: [ValueID]
    let scale: Float
    /// How many positions a query sees; 0 for all.
    let window: Int

    /// - Returns: All attentions of the graph; none where nothing in it is causal.
    /// - Throws: `PassRefusal`.
    static func all(in graph: Graph, _ interface: CausalInterface) throws -> [CacheableAttention] {
        let definitions = graph.definitions()
        var found: [CacheableAttention] = []
        for (number, node) in graph.nodes.enumerated() {
            guard let op = node.op as? ScaledDotProductAttention, node.inputs.count >= 3, let q = node.inputs[0], let k = node.inputs[1], let v = node.inputs[2]
            else { continue }
            let label = graph.label(node)
            let (key, pastKey) = try split(k, graph, interface, definitions, label)
            let (value, pastValue) = try split(v, graph, interface, definitions, label)
            let check = MaskCheck(
                graph: graph, interface: interface, definitions: definitions, mask: node.inputs.count > 3 ? node.inputs[3] : nil, isCausal: op.isCausal)
            // An encoder.
            if interface.pasts.isEmpty, found.isEmpty, !check.looksCausal { return [] }
            guard graph.type(q).dims[2] == CausalInterface.sequence else { throw PassRefusal(label, "its queries are \(graph.type(q)), not the new tokens") }
            let window: Int
            do { window = try check.window() } catch { throw PassRefusal(label, "\(error)") }
            found.append(CacheableAttention(
                node: number, query: q, key: key, value: value, pasts: [pastKey, pastValue].compactMap { $0 }, scale: op.scale, window: window))
        }
        let used = found.flatMap(\.pasts)
        if let unused = interface.pasts.first(where: { past in used.filter { $0 == past }.count != 1 }) {
            let count = used.filter { $0 == unused }.count
            throw PassRefusal("%\(graph[unused].name)", "\(count) attentions take it as their past, expected 1")
        }
        return found
    }

    /// The new part of a key or value, and the past that it is joined to.
    private static func split(
        _ value: ValueID, _ graph: Graph, _ interface: CausalInterface, _ definitions: [ValueID: Int], _ label: String
    ) throws -> (new: ValueID, past: ValueID?) {
        if interface.pasts.isEmpty {
            guard graph.type(value).dims[2] == CausalInterface.sequence else {
                throw PassRefusal(label, "its keys or values are \(graph.type(value)), not those of the new tokens")
            }
            return (value, nil)
        }
        guard let number = definitions[value], let concat = graph.nodes[number].op as? Concat, concat.axis == 2 || concat.axis == -2,
            graph.nodes[number].inputs.count == 2, let first = graph.nodes[number].inputs[0], let new = graph.nodes[number].inputs[1],
            case let past = graph.withoutCasts(first, definitions), interface.pasts.contains(past), graph.type(new).dims[2] == CausalInterface.sequence
        else { throw PassRefusal(label, "its keys or values are no past and new ones joined along the third dimension") }
        return (new, past)
    }
}

extension Graph {
    /// What to call a node in a message.
    func label(_ node: Node) -> String {
        node.name.isEmpty ? node.outputs.first.map { "%\(self[$0].name)" } ?? node.op.mnemonic : node.name
    }

    /// The value before conversions between float types.
    func withoutCasts(_ value: ValueID, _ definitions: [ValueID: Int]) -> ValueID {
        var value = value
        while let number = definitions[value], nodes[number].op is Cast, let source = nodes[number].inputs.first ?? nil, type(source).dtype.isFloat {
            value = source
        }
        return value
    }
}
