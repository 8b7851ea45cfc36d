import GraphIR

/// Removes nodes that no output depends on.
struct DeadCode: Pass {
    let name = "dead_code"

    func run(_ graph: inout Graph, _ report: inout OptimizationReport) throws -> Int {
        var used = Set(graph.outputs.map(\.value))
        var kept: [Node] = []
        for node in graph.nodes.reversed() where node.outputs.contains(where: used.contains) {
            used.formUnion(node.inputs.compactMap { $0 })
            kept.append(node)
        }
        let count = graph.nodes.count - kept.count
        if count > 0 { graph.nodes = kept.reversed() }
        return count
    }
}
