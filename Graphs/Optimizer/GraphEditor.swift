import GraphIR
import Operators
import Tensors

/// A graph while rules rewrite it: nodes by number, who defines and who uses each value, and the facts, all kept up to date with every
/// change.
public struct GraphEditor {
    /// Values and outputs; its node list is empty until `finish()`.
    private(set) var graph: Graph
    private var facts: FactTable
    /// By number; nil once removed.
    private var nodes: [Node?]
    private var order: [Int]
    /// By value index.
    private var definitions: [Int?]
    private var users: [[Int]]
    private var outputUses: [Int]
    /// Nodes that were added for the node that is being visited.
    private var fresh: [Int] = []

    init(_ graph: Graph) throws {
        facts = try FactTable(graph)
        nodes = graph.nodes
        order = Array(graph.nodes.indices)
        definitions = Array(repeating: nil, count: graph.values.count)
        users = Array(repeating: [], count: graph.values.count)
        outputUses = Array(repeating: 0, count: graph.values.count)
        self.graph = graph
        self.graph.nodes = []
        for number in nodes.indices { connect(number) }
        for output in graph.outputs { outputUses[output.value.index] += 1 }
    }

    /// The edited graph.
    func finish() -> Graph {
        var result = graph
        result.nodes = order.compactMap { nodes[$0] }
        return result
    }

    // MARK: Reading

    func node(_ number: Int) -> Node? { nodes[number] }

    /// The number of the node that defines a value; nil for inputs and constants.
    func definition(_ value: ValueID) -> Int? { definitions[value.index] }

    /// The operator that defines a value.
    public func op(_ value: ValueID) -> (any Operator)? { definition(value).flatMap { nodes[$0]?.op } }

    /// The operands of the node that defines a value.
    public func inputs(_ value: ValueID) -> [ValueID?] { definition(value).flatMap { nodes[$0]?.inputs } ?? [] }

    /// The numbers of the nodes that use a value, once per use.
    func users(_ value: ValueID) -> [Int] { users[value.index] }

    func isOutput(_ value: ValueID) -> Bool { outputUses[value.index] > 0 }

    public func type(_ value: ValueID) -> TensorType { graph.type(value) }

    public func fact(_ value: ValueID) -> Fact { facts.fact(value, in: graph) }

    /// The contents of a value that is a constant or that inference knows entirely.
    public func constant(_ value: ValueID) -> Tensor? { fact(value).constant }

    /// The element of a constant that repeats one. Large tensors are weights and not looked through.
    public func scalar(_ value: ValueID) -> Double? {
        guard let tensor = constant(value), tensor.count <= 4096 else { return nil }
        let elements = tensor.doubles()
        guard let first = elements.first, elements.allSatisfy({ $0 == first }) else { return nil }
        return first
    }

    /// Whether a value follows from constants alone: a weight, plain or stored in a shorter form.
    public func isConstantExpression(_ value: ValueID) -> Bool { isConstantExpression(value, depth: 4) }

    private func isConstantExpression(_ value: ValueID, depth: Int) -> Bool {
        if graph.constant(value) != nil { return true }
        guard depth > 0, let number = definition(value), let node = nodes[number] else { return false }
        return node.inputs.allSatisfy { $0.map { isConstantExpression($0, depth: depth - 1) } ?? true }
    }

    /// The name of a match's last node, which the new nodes inherit.
    public func name(_ match: Match) -> String { nodes[match.root]?.name ?? "" }

    /// What to call a node in a message.
    func label(_ number: Int) -> String {
        guard let node = nodes[number] else { return "a removed node" }
        if !node.name.isEmpty { return node.name }
        return node.outputs.first.map { "%\(graph[$0].name)" } ?? node.op.mnemonic
    }

    // MARK: Writing

    /// Adds a node with one output.
    ///
    /// - Throws: `OperatorError` of the type rule.
    public mutating func add(_ op: some Operator, _ inputs: ValueID?..., name: String) throws -> ValueID {
        try add(op, inputs, name: name)
    }

    public mutating func add(_ op: some Operator, _ inputs: [ValueID?], name: String) throws -> ValueID {
        var inputs = inputs[...]
        while let last = inputs.last, last == nil { inputs.removeLast() }
        let outputs = try facts.add(op, Array(inputs), name: name, to: &graph)
        guard let node = graph.nodes.popLast(), let output = outputs.first, outputs.count == 1 else {
            throw OperatorError(.unsupported, "\(op.mnemonic) has \(outputs.count) outputs, a rewrite adds one")
        }
        extendTables()
        nodes.append(node)
        fresh.append(nodes.count - 1)
        connect(nodes.count - 1)
        return output
    }

    public mutating func addConstant(_ tensor: Tensor, name: String = "constant") -> ValueID {
        let id = graph.addConstant(name, tensor)
        extendTables()
        return id
    }

    /// An i64 tensor of dims that inputs bind: a constant where all are numbers.
    public mutating func addDims(_ dims: [Dim], name: String) throws -> ValueID {
        let numbers = dims.compactMap(\.fixedValue)
        if numbers.count == dims.count {
            return addConstant(try Tensor(integers: numbers.map(Int64.init), shape: [numbers.count]), name: "shape")
        }
        return try add(Dims(dims), name: name)
    }

    /// Lets every use of a value use another one of the same type.
    mutating func replace(_ old: ValueID, with new: ValueID) {
        // A new node takes the old value's place, and with it its name.
        if let number = definition(new), fresh.contains(number), users(new).isEmpty, !isOutput(new), nodes[number]?.outputs.count == 1,
            let former = definition(old), nodes[former]?.outputs.count == 1
        {
            remove(former, keeping: [new])
            nodes[number]?.outputs = [old]
            definitions[old.index] = number
            definitions[new.index] = nil
            graph.setType(old, graph.type(new))
            return
        }
        for user in users[old.index] {
            guard let inputs = nodes[user]?.inputs else { continue }
            for operand in inputs.indices where inputs[operand] == old { nodes[user]?.inputs[operand] = new }
        }
        users[new.index] += users[old.index]
        users[old.index] = []
        for index in graph.outputs.indices where graph.outputs[index].value == old { graph.outputs[index].value = new }
        outputUses[new.index] += outputUses[old.index]
        outputUses[old.index] = 0
        if let former = definition(old) { removeIfUnused(former, keeping: [new]) }
    }

    /// Visits the nodes in order; what `body` adds while it sees a node stands before that node.
    ///
    /// - Returns: The sum of what `body` returns.
    mutating func visit(_ body: (inout GraphEditor, Int) throws -> Int) rethrows -> Int {
        var placed: [Int] = []
        placed.reserveCapacity(order.count)
        var total = 0
        for number in order where nodes[number] != nil {
            fresh = []
            total += try body(&self, number)
            placed += fresh
            placed.append(number)
        }
        order = placed.filter { nodes[$0] != nil }
        fresh = []
        return total
    }

    /// Makes the only output of a node a constant and removes the node.
    mutating func makeConstant(_ value: ValueID, _ tensor: Tensor) {
        guard let number = definition(value), nodes[number]?.outputs.count == 1 else { return }
        remove(number, keeping: [])
        graph.setConstant(value, tensor)
    }

    /// Exchanges one operand of a node.
    mutating func setInput(_ number: Int, _ operand: Int, to new: ValueID) {
        guard let old = nodes[number]?.inputs[operand] else { return }
        nodes[number]?.inputs[operand] = new
        users[new.index].append(number)
        if let use = users[old.index].firstIndex(of: number) { users[old.index].remove(at: use) }
        if let before = definition(old) { removeIfUnused(before, keeping: []) }
    }

    /// Exchanges the operator of a node for one with the same outputs.
    mutating func setOperator(_ number: Int, _ op: any Operator) { nodes[number]?.op = op }

    private mutating func extendTables() {
        while definitions.count < graph.values.count {
            definitions.append(nil)
            users.append([])
            outputUses.append(0)
        }
    }

    private mutating func connect(_ number: Int) {
        guard let node = nodes[number] else { return }
        for output in node.outputs { definitions[output.index] = number }
        for case let input? in node.inputs { users[input.index].append(number) }
    }

    private mutating func removeIfUnused(_ number: Int, keeping kept: Set<ValueID>) {
        guard let node = nodes[number],
            node.outputs.allSatisfy({ users[$0.index].isEmpty && outputUses[$0.index] == 0 && !kept.contains($0) })
        else { return }
        remove(number, keeping: kept)
    }

    /// Removes a node, and those before it that only it used.
    private mutating func remove(_ number: Int, keeping kept: Set<ValueID>) {
        var pending = [number]
        while let number = pending.popLast() {
            guard let node = nodes[number] else { continue }
            nodes[number] = nil
            for output in node.outputs where definitions[output.index] == number { definitions[output.index] = nil }
            for case let input? in node.inputs {
                if let use = users[input.index].firstIndex(of: number) { users[input.index].remove(at: use) }
                guard let before = definitions[input.index], let candidate = nodes[before],
                    candidate.outputs.allSatisfy({ users[$0.index].isEmpty && outputUses[$0.index] == 0 && !kept.contains($0) })
                else { continue }
                pending.append(before)
            }
        }
    }
}
