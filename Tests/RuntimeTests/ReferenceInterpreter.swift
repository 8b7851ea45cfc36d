import GraphIR
import Operators
import Tensors

/// Runs a graph node by node through the operators' reference evaluations: what the executor is compared with.
func interpret(_ graph: Graph, _ inputs: [String: Tensor], symbols: [String: Int] = [:]) throws -> [String: Tensor] {
    var values: [ValueID: Tensor] = [:]
    for id in graph.inputs { values[id] = inputs[graph[id].name] }
    func tensor(_ id: ValueID) -> Tensor? { graph.constant(id) ?? values[id] }
    for node in graph.nodes {
        let results: [Tensor]
        if let dims = node.op as? Dims {
            let sizes = try dims.elements.map { Int64(try $0.evaluate(symbols) ?? -1) }
            results = [try Tensor(integers: sizes, shape: dims.isScalar ? [] : [sizes.count])]
        } else {
            results = try node.op.evaluate(Inputs(node.inputs.map { $0.flatMap(tensor) }))
        }
        for (id, result) in zip(node.outputs, results) { values[id] = result }
    }
    return Dictionary(uniqueKeysWithValues: graph.outputs.compactMap { output in tensor(output.value).map { (output.name, $0) } })
}
