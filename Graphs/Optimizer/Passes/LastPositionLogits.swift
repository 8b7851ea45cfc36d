import GraphIR
import Operators
import Tensors

/// Adds an output with the logits of the last position alone, which is all that generation needs: the product with the vocabulary is
/// the largest of a step, and a prompt would compute it for every token.
///
///     logits = linear(hidden, W)   ->   logits, and last_logits = linear(gather(hidden, -1), W)
///
/// An executor computes the outputs that it is asked for, so one graph serves both.
public enum LastPositionLogits {
    public static let outputName = "last_logits"

    /// - Parameter output: `[batch, sequence, vocabulary]`; the new output is `[batch, vocabulary]`.
    /// - Returns: false, and no change, where the output is not made position by position from a dense layer.
    /// - Throws: `OperatorError` of a type rule.
    public static func add(to graph: inout Graph, output name: String) throws -> Bool {
        guard let output = graph.outputs.first(where: { $0.name == name }), graph.type(output.value).rank == 3 else { return false }
        let definitions = graph.definitions()
        // From the logits back to the dense layer, through functions of single elements (soft-caps, scales, casts).
        var chain: [Node] = []
        var value = output.value
        while true {
            guard let number = definitions[value] else { return false }
            let node = graph.nodes[number]
            guard let hidden = node.inputs.first ?? nil, graph.type(hidden).rank == 3 else { return false }
            if node.op is QuantizedLinear, let number = definitions[hidden], graph.nodes[number].op is QuantizeRows,
                graph.nodes[number].outputs.map(Optional.some) == Array(node.inputs.prefix(3)), node.inputs.dropFirst(3).allSatisfy({ $0.map { graph.constant($0) != nil } ?? true }),
                let x = graph.nodes[number].inputs[0]
            {
                chain.append(node)
                value = x
                break
            }
            let others = node.inputs.dropFirst().compactMap { $0 }
            guard others.allSatisfy({ graph.constant($0) != nil || definitions[$0].map { isConstantExpression(graph.nodes[$0], graph, definitions) } == true })
            else { return false }
            chain.append(node)
            value = hidden
            switch node.op {
            case is Linear: break
            case let op as MatMul where !op.transposeA && others.allSatisfy({ graph.type($0).rank == 2 }): break
            case is Unary, is Cast: continue
            case is Binary where others.allSatisfy({ graph.type($0).rank <= 1 }): continue
            default: return false
            }
            break
        }
        let last = graph.addConstant("last_position", try Tensor(integers: [-1], shape: []))
        value = try graph.add(Gather(axis: 1), [value, last], name: "last_position")[0]
        for node in chain.reversed() {
            // Integers, their scale and their zero point are made from the last position anew.
            let isQuantized = node.op is QuantizedLinear
            let operands: [ValueID] = isQuantized ? try graph.add(QuantizeRows(), [value], name: node.name) : [value]
            value = try graph.add(node.op, operands + node.inputs.dropFirst(operands.count), name: node.name)[0]
        }
        graph.outputs.append(Output(name: outputName, value: value))
        return true
    }

    /// Made from constants alone, as the f32 form of stored weights is.
    private static func isConstantExpression(_ node: Node, _ graph: Graph, _ definitions: [ValueID: Int], depth: Int = 4) -> Bool {
        guard depth > 0, !type(of: node.op).usesCache else { return false }
        return node.inputs.compactMap { $0 }.allSatisfy { id in
            graph.constant(id) != nil || definitions[id].map { isConstantExpression(graph.nodes[$0], graph, definitions, depth: depth - 1) } == true
        }
    }
}
