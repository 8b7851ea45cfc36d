import Tensors

/// Checks that names are defined once and before they are used, and brings nodes into an order in which they can run.
enum NodeOrder {
    /// - Returns: The nodes in order, and whether the file had them in another one (which the specification forbids).
    /// - Throws: `ONNXError` for a name that is defined twice or nowhere, and for a cycle.
    static func sorted(_ nodes: [ONNXNode], graph: ONNXGraph, path: String) throws -> (nodes: [ONNXNode], wasSorted: Bool) {
        var definitions: Set<ExactName> = []
        for input in graph.inputs where !definitions.insert(input.name).inserted {
            throw ONNXError(.duplicateName, path: path, "the graph has two inputs \"\(input.name)\"")
        }
        var initializers: Set<ExactName> = []
        for initializer in graph.initializers where !initializers.insert(initializer.name).inserted {
            throw ONNXError(.duplicateName, path: path, "the graph has two initializers \"\(initializer.name)\"")
        }
        definitions.formUnion(initializers)
        var producers: [ExactName: Int] = [:]
        for (index, node) in nodes.enumerated() {
            for output in node.outputs where !output.isEmpty {
                guard definitions.insert(output).inserted else {
                    throw ONNXError(.duplicateName, path: path, "\(node.label) defines \"\(output)\", which is defined already")
                }
                producers[output] = index
            }
        }
        for node in nodes {
            for input in node.inputs where !input.isEmpty && !definitions.contains(input) {
                throw ONNXError(.undefinedValue, path: path, "\(node.label) uses \"\(input)\", which nothing defines")
            }
        }
        var outputs: Set<ExactName> = []
        for output in graph.outputs {
            guard definitions.contains(output.name) else {
                throw ONNXError(.undefinedValue, path: path, "the output \"\(output.name)\" is defined by nothing")
            }
            guard outputs.insert(output.name).inserted else {
                throw ONNXError(.duplicateName, path: path, "the graph has two outputs \"\(output.name)\"")
            }
        }
        return try order(nodes, producers: producers, path: path)
    }

    /// Keeps the file's order as far as definitions allow (Kahn, 1962, with a first-in first-out queue seeded in file order).
    private static func order(
        _ nodes: [ONNXNode], producers: [ExactName: Int], path: String
    ) throws -> (nodes: [ONNXNode], wasSorted: Bool) {
        var waiting = [Int](repeating: 0, count: nodes.count)
        var consumers = [[Int]](repeating: [], count: nodes.count)
        var isSorted = true
        for (index, node) in nodes.enumerated() {
            for input in node.inputs {
                guard let producer = producers[input] else { continue }
                waiting[index] += 1
                consumers[producer].append(index)
                if producer >= index { isSorted = false }
            }
        }
        if isSorted { return (nodes, true) }
        var queue = nodes.indices.filter { waiting[$0] == 0 }
        var next = 0
        while next < queue.count {
            for consumer in consumers[queue[next]] {
                waiting[consumer] -= 1
                if waiting[consumer] == 0 { queue.append(consumer) }
            }
            next += 1
        }
        guard queue.count == nodes.count else {
            let stuck = nodes.indices.filter { waiting[$0] > 0 }.prefix(4).map { nodes[$0].label }
            throw ONNXError(.cyclicGraph, path: path, "the graph has a cycle through or before \(stuck.joined(separator: ", "))")
        }
        return (queue.map { nodes[$0] }, false)
    }
}
