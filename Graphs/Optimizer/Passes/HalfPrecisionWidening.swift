import GraphIR
import Operators
import Tensors

/// Computes in f32 what a graph computes in f16 or bf16, which are formats for storing numbers: no common CPU multiplies them. Large weights
/// stay stored as they are, with a cast where they are used; inputs and outputs keep their types. Intermediate results are no
/// longer rounded to 16 bits, so answers come closer to those of the f32 model, not bit for bit to those of a 16-bit runtime.
struct HalfPrecisionWidening: Pass {
    let name = "half_precision_widening"

    /// Smaller constants are simply converted.
    private static let maximumConvertedCount = 1024

    func run(_ graph: inout Graph, _ report: inout OptimizationReport) throws -> Int {
        func isHalf(_ dtype: DType) -> Bool { dtype == .f16 || dtype == .bf16 }
        guard graph.nodes.contains(where: { node in
            // Casts from a stored weight are what this pass makes; a graph of nothing else is done.
            node.outputs.contains { isHalf(graph.type($0).dtype) }
                || !(node.op is Cast) && node.inputs.indices.contains { place in
                    node.inputs[place].map { isHalf(graph.type($0).dtype) && !takesStored(node, place, graph) } ?? false
                }
        }) else { return 0 }
        var result = Graph(name: graph.name)
        var facts = FactTable()
        var renamed: [ValueID: ValueID] = [:]
        var stored: [ValueID: ValueID] = [:]
        for id in graph.inputs {
            let value = graph[id]
            let input = result.addInput(value.name, value.type, default: value.inputDefault)
            renamed[id] = isHalf(value.type.dtype) ? try facts.add(Cast(to: .f32), [input], name: value.name, to: &result)[0] : input
        }
        for id in graph.usedConstants {
            guard let tensor = graph.constant(id) else { continue }
            let name = graph[id].name
            if !isHalf(tensor.dtype) {
                renamed[id] = result.addConstant(name, tensor)
                continue
            }
            let isSmall = tensor.count <= Self.maximumConvertedCount
            if !isSmall || graph.nodes.contains(where: { node in node.inputs.indices.contains { node.inputs[$0] == id && takesStored(node, $0, graph) } }) {
                stored[id] = result.addConstant(name, tensor)
            }
            if !isSmall, let constant = stored[id] {
                renamed[id] = try facts.add(Cast(to: .f32), [constant], name: name, to: &result)[0]
            } else {
                renamed[id] = result.addConstant(name, try tensor.converted(to: .f32))
            }
        }
        for node in graph.nodes {
            var op = node.op
            if let cast = op as? Cast, isHalf(cast.to) { op = Cast(to: .f32) }
            let inputs = try node.inputs.enumerated().map { place, input in
                try input.map { id in
                    if takesStored(node, place, graph), let constant = stored[id] { return constant }
                    guard let new = renamed[id] else { throw OperatorError(.invalidAttribute, "%\(graph[id].name) is used before its definition") }
                    return new
                }
            }
            let outputs = try facts.add(op, inputs, name: node.name, outputNames: node.outputs.map { graph[$0].name }, to: &result)
            for (old, new) in zip(node.outputs, outputs) { renamed[old] = new }
        }
        for output in graph.outputs {
            guard var value = renamed[output.value] else { continue }
            let dtype = graph.type(output.value).dtype
            if isHalf(dtype) { value = try facts.add(Cast(to: dtype), [value], name: output.name, to: &result)[0] }
            result.outputs.append(Output(name: output.name, value: value))
        }
        graph = result
        return 1
    }

    /// Operands that operators over f32 read in 16 bits: a graph that was optimised before has them.
    private func takesStored(_ node: Node, _ place: Int, _ graph: Graph) -> Bool {
        guard let id = node.inputs[place], graph.constant(id) != nil, let output = node.outputs.first, graph.type(output).dtype == .f32 else { return false }
        return node.op is Linear && place == 1 || node.op is Embedding && place < 2 * Embedding.tableCount && place % 2 == 0
    }
}
