import GraphIR
import Operators
import Tensors

/// A graph with everything evaluated that follows from its constants alone: casts and dequantised weights, tables.
struct PreparedGraph: Sendable {
    let graph: Graph
    /// Constants of the graph and results of folded nodes, by value index.
    let constants: [Tensor?]
    /// Nodes that are left to run, in order.
    let nodes: [Int]
    /// The node among them that says how many real tokens a batch has.
    let tokenRows: Int?

    /// Results larger than that are computed only where they are little more than their operands, as unpacked weights are.
    private static let freeBytes = 64 << 20

    /// - Throws: `VerificationError` for a graph that breaks its form, `RuntimeError` naming a node that fails.
    init(_ graph: Graph, options: ExecutorOptions) throws {
        try graph.verify()
        self.graph = graph
        var constants = graph.values.map(\.constant)
        var isNeeded = [Bool](repeating: false, count: graph.values.count)
        for output in graph.outputs { isNeeded[output.value.index] = true }
        for node in graph.nodes.reversed() where node.outputs.contains(where: { isNeeded[$0.index] }) {
            for case let input? in node.inputs { isNeeded[input.index] = true }
        }
        var left: [Int] = []
        let direct = DirectExecution(threads: options.threadCount, memoryLimit: options.memoryBytes)
        for (index, node) in graph.nodes.enumerated() where node.outputs.contains(where: { isNeeded[$0.index] }) {
            if let results = try Self.fold(node, constants, direct, graph) {
                for (output, tensor) in zip(node.outputs, results) { constants[output.index] = tensor }
            } else {
                left.append(index)
            }
        }
        self.constants = constants
        self.nodes = left
        tokenRows = left.first { graph.nodes[$0].op is TokenRows }
    }

    private static func fold(
        _ node: Node, _ constants: [Tensor?], _ direct: DirectExecution, _ graph: Graph
    ) throws -> [Tensor]? {
        if type(of: node.op).usesCache { return nil }
        if let dims = node.op as? Dims, dims.elements.contains(where: { $0.fixedValue == nil }) { return nil }
        var operands: [Tensor?] = []
        for input in node.inputs {
            guard let input else {
                operands.append(nil)
                continue
            }
            guard let tensor = constants[input.index] else { return nil }
            operands.append(tensor)
        }
        do {
            let budget = operands.reduce(freeBytes) { $0 + 8 * ($1?.byteCount ?? 0) }
            for type in try node.op.inferTypes(Inputs(operands).operands) {
                guard let concrete = try ConcreteType(type), concrete.byteCount <= budget else { return nil }
            }
            let results = try direct.run(node.op, operands, symbols: SymbolTable())
            return results.count == node.outputs.count ? results : nil
        } catch {
            throw RuntimeError.node(node, in: graph, error)
        }
    }
}
