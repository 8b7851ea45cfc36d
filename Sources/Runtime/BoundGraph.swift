import GraphIR
import Operators
import Tensors

/// A node whose operands have known types.
struct BoundNode {
    /// In the graph.
    let node: Int
    let op: any Operator
    /// By value index.
    var inputs: [Int?]
    var outputs: [Int]
    var attentionLayout = AttentionLayout()
}

/// The part of a graph that the wanted outputs need, with every size worked out for actual input shapes by the operators' own type
/// rules. What follows from the shapes alone (shape tensors, positions, causal masks) is evaluated on the way.
struct BoundGraph {
    let prepared: PreparedGraph
    private(set) var facts: [Fact?]
    /// By value; nil where only the data tell the sizes.
    private(set) var types: [ConcreteType?]
    /// Nodes to run, in order.
    var nodes: [BoundNode] = []
    /// Nodes to run after those: their sizes, or those of their operands, depend on data.
    private(set) var dynamicNodes: [BoundNode] = []
    private(set) var symbols: SymbolTable
    private var isDynamic: [Bool]
    /// What evaluated results may still take; the rest is computed in each run.
    private var constantBudget = 32 << 20
    private let options: ExecutorOptions

    private var graph: Graph { prepared.graph }

    /// - Throws: `RuntimeError` naming the input or node.
    init(_ prepared: PreparedGraph, _ binding: InputBinding, given: TokenBinding, wanted: [ValueID], options: ExecutorOptions) throws {
        self.prepared = prepared
        self.options = options
        symbols = binding.symbols
        let count = prepared.graph.values.count
        facts = Array(repeating: nil, count: count)
        types = Array(repeating: nil, count: count)
        isDynamic = Array(repeating: false, count: count)
        for (id, tensor) in zip(graph.inputs, binding.tensors) { try bindInput(id, tensor) }
        for (id, tensor) in zip(given.values, given.tensors) {
            types[id.index] = try ConcreteType(tensor)
            facts[id.index] = Fact(TensorType(tensor.dtype, shape: tensor.shape))
            symbols.learn(graph.type(id), shape: tensor.shape)
        }
        for index in neededNodes(wanted, given: given.values) {
            do {
                try bind(index)
            } catch {
                throw RuntimeError.node(graph.nodes[index], in: graph, error)
            }
        }
        for id in wanted where facts[id.index] == nil { try useConstant(id.index) }
    }

    func constant(_ value: Int) -> Tensor? { facts[value]?.constant }

    private func neededNodes(_ wanted: [ValueID], given: [ValueID]) -> [Int] {
        var isNeeded = [Bool](repeating: false, count: graph.values.count)
        for id in wanted { isNeeded[id.index] = true }
        var result: [Int] = []
        for index in prepared.nodes.reversed()
        where graph.nodes[index].outputs.contains(where: { isNeeded[$0.index] && !given.contains($0) }) {
            result.append(index)
            for case let input? in graph.nodes[index].inputs { isNeeded[input.index] = true }
        }
        return result.reversed()
    }

    private mutating func bindInput(_ id: ValueID, _ tensor: Tensor?) throws {
        if let tensor {
            do {
                types[id.index] = try ConcreteType(tensor)
            } catch {
                throw RuntimeError(.wrongShape, "input \(graph[id].name): \(error)")
            }
            facts[id.index] = Fact(TensorType(tensor.dtype, shape: tensor.shape))
            return
        }
        let value = graph[id]
        let shape = try value.type.dims.map { dim -> Int in
            guard let size = try dim.evaluate(symbols.sizes) else {
                throw RuntimeError(.missingInput, "input \(value.name) is missing, and no other input tells its size \(dim)")
            }
            return size
        }
        let type = try ConcreteType(value.type.dtype, shape)
        try checkMemory(type, value.name)
        guard let content = value.inputDefault else { throw RuntimeError(.missingInput, "input \(value.name) is missing") }
        try setConstant(id.index, content.tensor(type))
    }

    private mutating func setConstant(_ value: Int, _ tensor: Tensor) throws {
        types[value] = try ConcreteType(tensor)
        facts[value] = Fact(TensorType(tensor.dtype, shape: tensor.shape), constant: tensor)
    }

    private mutating func useConstant(_ value: Int) throws {
        if facts[value] == nil, let tensor = prepared.constants[value] { try setConstant(value, tensor) }
    }

    private func checkMemory(_ type: ConcreteType, _ name: String) throws {
        guard type.byteCount <= options.memoryBytes else {
            throw RuntimeError(
                .outOfMemory, "%\(name), \(type), is beyond the memory limit of \(options.memoryBytes) bytes; use smaller inputs")
        }
    }

    private mutating func bind(_ index: Int) throws {
        let node = graph.nodes[index]
        let bound = BoundNode(node: index, op: node.op, inputs: node.inputs.map { $0?.index }, outputs: node.outputs.map(\.index))
        for case let input? in bound.inputs { try useConstant(input) }
        if let dims = node.op as? Dims {
            if let tensor = try? dims.tensor(symbols), let output = bound.outputs.first {
                try setConstant(output, tensor)
            } else {
                for id in node.outputs { setDynamic(id.index, graph.type(id)) }
                dynamicNodes.append(bound)
            }
            return
        }
        let operands = Operands(bound.inputs.map { $0.flatMap { facts[$0] } }, symbolPrefix: "?\(index)")
        let inferred = try node.op.inferTypes(operands)
        guard inferred.count == node.outputs.count else {
            throw OperatorError(.unsupported, "has \(node.outputs.count) outputs, its rule gives \(inferred.count)")
        }
        let concrete = try inferred.map { try ConcreteType($0) }
        for (id, type) in zip(node.outputs, concrete) {
            guard let type else { continue }
            try checkMemory(type, graph[id].name)
            symbols.learn(graph.type(id), shape: type.shape)
        }
        if try evaluateNow(bound, concrete) { return }

        let values = try node.op.inferValues(operands)
        for (position, output) in bound.outputs.enumerated() {
            types[output] = concrete[position]
            // Values of float tensors are exact only as expressions over sizes; at this point they are numbers, which `evaluate` handles.
            let value = position < values.count && !inferred[position].dtype.isFloat ? values[position] : nil
            facts[output] = Fact(
                inferred[position], value: value, constant: value?.tensor(dtype: inferred[position].dtype))
        }
        // Known by inference, as the shape of a value is: nothing to run.
        if bound.outputs.allSatisfy({ facts[$0]?.constant != nil && types[$0] != nil }) { return }
        if concrete.contains(where: { $0 == nil }) || bound.inputs.contains(where: { $0.map { isDynamic[$0] } ?? false }) {
            for (position, output) in bound.outputs.enumerated() { setDynamic(output, inferred[position]) }
            dynamicNodes.append(bound)
        } else {
            nodes.append(bound)
        }
    }

    private mutating func setDynamic(_ value: Int, _ type: TensorType) {
        isDynamic[value] = true
        if facts[value] == nil { facts[value] = Fact(type) }
    }

    /// Runs a node whose operands are all known, when its results are small.
    private mutating func evaluateNow(_ bound: BoundNode, _ types: [ConcreteType?]) throws -> Bool {
        if type(of: bound.op).usesCache { return false }
        var operands: [Tensor?] = []
        for input in bound.inputs {
            guard let input else {
                operands.append(nil)
                continue
            }
            guard let tensor = facts[input]?.constant else { return false }
            operands.append(tensor)
        }
        let bytes = types.reduce(0) { $0 + ($1?.byteCount ?? constantBudget) }
        guard bytes <= constantBudget else { return false }
        let results = try DirectExecution(threads: options.threadCount, memoryLimit: options.memoryBytes)
            .run(bound.op, operands, symbols: symbols)
        guard results.count == bound.outputs.count else { return false }
        constantBudget -= bytes
        for (output, tensor) in zip(bound.outputs, results) { try setConstant(output, tensor) }
        return true
    }
}
