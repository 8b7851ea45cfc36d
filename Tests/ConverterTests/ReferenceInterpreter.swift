import GraphIR
import Operators
import Tensors

/// Runs a graph node by node with the operators' reference evaluation, and checks every inferred type on the way.
enum ReferenceInterpreter {
    struct Failure: Error, CustomStringConvertible { let description: String }

    static func run(_ graph: Graph, _ given: [String: Tensor]) throws -> [String: Tensor] {
        try graph.verify()
        var values: [ValueID: Tensor] = [:]
        var symbols: [String: Int] = [:]
        for id in graph.inputs {
            guard let tensor = given[graph[id].name] else { continue }
            for (dim, size) in zip(graph.type(id).dims, tensor.shape) {
                if let name = dim.symbolName { symbols[name] = size }
            }
            values[id] = tensor
        }
        for id in graph.inputs where values[id] == nil { values[id] = try defaultValue(of: id, in: graph, symbols) }
        for node in graph.nodes {
            for (output, tensor) in zip(node.outputs, try evaluate(node, in: graph, values, symbols)) {
                let type = graph.type(output)
                let sizes = try type.dims.map { try $0.evaluate(symbols) }
                guard type.dtype == tensor.dtype, sizes.count == tensor.rank,
                    zip(sizes, tensor.shape).allSatisfy({ $0 == nil || $0 == $1 })
                else {
                    throw Failure(description: "\(node.op.mnemonic) \"\(node.name)\" gave \(tensor.dtype) \(tensor.shape), inferred was \(type)")
                }
                values[output] = tensor
            }
        }
        var outputs: [String: Tensor] = [:]
        for output in graph.outputs {
            guard let tensor = values[output.value] ?? graph.constant(output.value) else { throw Failure(description: "no value for \(output.name)") }
            outputs[output.name] = tensor
        }
        return outputs
    }

    private static func evaluate(_ node: Node, in graph: Graph, _ values: [ValueID: Tensor], _ symbols: [String: Int]) throws -> [Tensor] {
        // `Dims` has no operands: it is what its symbols say.
        if let dims = node.op as? Dims {
            let elements = dims.elements.map { Int64(((try? $0.evaluate(symbols)) ?? nil) ?? -1) }
            return [try Tensor(integers: elements, shape: dims.isScalar ? [] : [elements.count])]
        }
        do {
            return try node.op.evaluate(Inputs(node.inputs.map { id in id.flatMap { values[$0] ?? graph.constant($0) } }))
        } catch {
            throw Failure(description: "\(node.op.mnemonic) \"\(node.name)\": \(error)")
        }
    }

    private static func defaultValue(of id: ValueID, in graph: Graph, _ symbols: [String: Int]) throws -> Tensor {
        guard let inputDefault = graph[id].inputDefault else { throw Failure(description: "input \(graph[id].name) is not given") }
        let shape = try graph.type(id).dims.map { try $0.evaluate(symbols) ?? -1 }
        let elements = [Int64](repeating: inputDefault == .ones ? 1 : 0, count: try Shape.count(shape))
        return try Tensor(integers: elements, dtype: graph.type(id).dtype, shape: shape)
    }
}
