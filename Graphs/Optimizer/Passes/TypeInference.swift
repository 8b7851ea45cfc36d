import GraphIR
import Tensors

/// Infers all types again from the inputs on. What other passes have learned (a shape operand is now a constant, say) makes more dims known.
struct TypeInference: Pass {
    let name = "type_inference"

    func run(_ graph: inout Graph, _ report: inout OptimizationReport) throws -> Int {
        let bound = Set(graph.inputSymbols)
        var facts = FactTable()
        var count = 0
        for node in graph.nodes {
            let prefix = node.outputs.first.map { graph[$0].name } ?? node.op.mnemonic
            let types = try node.op.inferTypes(facts.operands(node.inputs, in: graph, symbolPrefix: prefix))
            for (output, inferred) in zip(node.outputs, types) {
                let recorded = graph.type(output)
                guard recorded.rank == inferred.rank else { continue }
                // A dim over input symbols tells more than an invented one, whichever of the two it is.
                let dims = zip(recorded.dims, inferred.dims).map { old, new in
                    new.symbols.isSubset(of: bound) || !old.symbols.isSubset(of: bound) ? new : old
                }
                let type = TensorType(inferred.dtype, dims)
                if type != recorded {
                    graph.setType(output, type)
                    count += 1
                }
            }
            try facts.record(node, in: graph)
        }
        return count
    }
}
