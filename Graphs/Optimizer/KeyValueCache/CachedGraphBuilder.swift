import GraphIR
import Operators
import Tensors

/// Writes a causal graph again with a key-value cache in place of its past inputs, masks and positions.
struct CachedGraphBuilder {
    private let old: Graph
    private let interface: CausalInterface
    private let definitions: [ValueID: Int]
    private let attentions: [Int: (slot: Int, attention: CacheableAttention)]
    private let dependents: Set<ValueID>
    private var positions: [ValueID: PositionValue] = [:]

    private var new: Graph
    private var facts = FactTable()
    private var renamed: [ValueID: ValueID] = [:]
    /// Values that now have rows of their own for each sequence of the batch.
    private var lifts: [ValueID: Lift] = [:]
    private let mask: ValueID
    private let newIDs: ValueID
    private var cachePositions: ValueID?

    /// How a value that was the same for the whole batch got a batch dimension.
    private enum Lift {
        /// In place of a leading 1.
        case replacesOne
        /// In front of the others.
        case added
    }

    init(_ graph: Graph, _ interface: CausalInterface, _ attentions: [CacheableAttention]) throws {
        old = graph
        self.interface = interface
        definitions = graph.definitions()
        var table: [Int: (Int, CacheableAttention)] = [:]
        for (slot, attention) in attentions.enumerated() { table[attention.node] = (slot, attention) }
        self.attentions = table
        var dependents: Set<ValueID> = [interface.ids]
        for node in graph.nodes where node.inputs.contains(where: { $0.map(dependents.contains) ?? false }) { dependents.formUnion(node.outputs) }
        self.dependents = dependents
        new = Graph(name: graph.name)
        let dims = graph.type(interface.ids).dims
        newIDs = new.addInput(graph[interface.ids].name, TensorType(.i64, dims))
        mask = new.addInput("attention_mask", TensorType(.i64, dims), default: .ones)
    }

    /// - Throws: `PassRefusal` where something else depends on the past.
    mutating func build() throws -> Graph {
        renamed[interface.ids] = newIDs
        let idType = old.type(interface.ids).dtype
        if idType != .i64 { renamed[interface.ids] = try add(Cast(to: idType), [newIDs], name: "") }

        let outputs = keptOutputs()
        guard !outputs.isEmpty else { throw PassRefusal("the graph", "it has no output besides keys and values") }
        for number in try live(from: outputs.map(\.value)) { try write(number) }
        for output in outputs { new.outputs.append(Output(name: output.name, value: try operand(output.value, of: "the output \(output.name)"))) }
        return new
    }

    /// The outputs that are no keys and values; those of half precision as they were before rounding.
    private func keptOutputs() -> [Output] {
        var cached: Set<ValueID> = []
        for (number, entry) in attentions {
            cached.formUnion([entry.attention.key, entry.attention.value])
            cached.formUnion(old.nodes[number].inputs[1...2].compactMap { $0 })
        }
        return old.outputs.compactMap { output in
            let value = old.withoutCasts(output.value, definitions)
            return cached.contains(value) ? nil : Output(name: output.name, value: value)
        }
    }

    /// The nodes that values need when attentions read the cache and positions come from it. Whole numbers for each token that something
    /// other than whole numbers is made of must be positions.
    private mutating func live(from values: [ValueID]) throws -> [Int] {
        var found: Set<Int> = []
        var pending = values
        while let value = pending.popLast() {
            guard let number = definitions[value], found.insert(number).inserted else { continue }
            let node = old.nodes[number]
            if let entry = attentions[number] {
                pending += [entry.attention.query, entry.attention.key, entry.attention.value]
                continue
            }
            let takesNumbers = node.outputs.contains { old.type($0).dtype.isFloat || dependents.contains($0) }
            for case let operand? in node.inputs {
                let type = old.type(operand)
                if takesNumbers, type.dtype.isInteger, type.dims.contains(CausalInterface.sequence), !dependents.contains(operand), old.constant(operand) == nil {
                    try recognise(operand, of: node)
                } else {
                    pending.append(operand)
                }
            }
        }
        return found.sorted()
    }

    private mutating func recognise(_ value: ValueID, of node: Node) throws {
        guard positions[value] == nil else { return }
        do {
            positions[value] = try PositionValue(value, in: old, interface, definitions: definitions)
        } catch {
            throw PassRefusal(old.label(node), "%\(old[value].name): \(error)")
        }
    }

    // MARK: Writing

    private mutating func add(_ op: some Operator, _ inputs: [ValueID?], name: String, output: String? = nil) throws -> ValueID {
        let outputs = try facts.add(op, inputs, name: name, outputNames: output.map { [$0] } ?? [], to: &new)
        guard let first = outputs.first else { throw PassRefusal(name, "\(op.mnemonic) has no output") }
        return first
    }

    private mutating func dims(_ dims: [Dim]) throws -> ValueID {
        let numbers = dims.compactMap(\.fixedValue)
        if numbers.count == dims.count { return new.addConstant("shape", try Tensor(integers: numbers.map(Int64.init), shape: [numbers.count])) }
        return try add(Dims(dims), [], name: "")
    }

    /// The new value of an operand.
    private mutating func operand(_ value: ValueID, of user: String) throws -> ValueID {
        if let known = renamed[value] { return known }
        if let tensor = old.constant(value) {
            let constant = new.addConstant(old[value].name, tensor)
            renamed[value] = constant
            return constant
        }
        if let position = positions[value] { return try write(position) }
        throw PassRefusal(user, "it depends on %\(old[value].name)")
    }

    private mutating func write(_ number: Int) throws {
        let node = old.nodes[number]
        let label = old.label(node)
        if let entry = attentions[number] { return try write(entry.attention, slot: entry.slot, node) }
        if let dims = node.op as? Dims, dims.elements.contains(where: { $0.symbols.contains("past") }) {
            throw PassRefusal(label, "it depends on the length of the past")
        }
        let inputs = try node.inputs.map { try $0.map { try operand($0, of: label) } }
        if node.inputs.contains(where: { $0.map { lifts[$0] != nil } ?? false }) { return try writeLifted(node, inputs, label) }
        let outputs = try facts.add(node.op, inputs, name: node.name, outputNames: node.outputs.map { old[$0].name }, to: &new)
        for (output, copy) in zip(node.outputs, outputs) {
            renamed[output] = copy
            if new.type(copy).dims.contains(where: { $0.symbols.contains("past") }) { throw PassRefusal(label, "it depends on the length of the past") }
        }
    }

    /// Heads go behind the tokens, as the cache has them; the transposes cancel with those that brought them there.
    private mutating func write(_ attention: CacheableAttention, slot: Int, _ node: Node) throws {
        let label = old.label(node)
        let exchange = Transpose(permutation: [0, 2, 1, 3])
        let parts = try [attention.query, attention.key, attention.value].map { part in
            try add(exchange, [try operand(part, of: label)], name: node.name)
        }
        let op = CachedAttention(slot: slot, scale: attention.scale, window: attention.window)
        let result = try add(op, parts + [mask], name: node.name)
        guard let output = node.outputs.first else { return }
        renamed[output] = try add(exchange, [result], name: node.name, output: old[output].name)
    }

    private mutating func write(_ position: PositionValue) throws -> ValueID {
        var result: ValueID
        if let known = cachePositions {
            result = known
        } else {
            result = try add(CachePositions(), [newIDs, mask], name: "positions")
            cachePositions = result
        }
        if position.offset != 0 {
            result = try add(Binary(.add), [result, new.addConstant("offset", try Tensor(integers: [position.offset], shape: []))], name: "positions")
        }
        let type = old.type(position.value)
        if type.dtype != .i64 { result = try add(Cast(to: type.dtype), [result], name: "positions") }
        let batch = old.type(interface.ids).dims[0]
        var shape = type.dims
        if shape.filter({ $0 != 1 }) == [CausalInterface.sequence], batch != 1 {
            if shape[0] == 1 {
                shape[0] = batch
                lifts[position.value] = .replacesOne
            } else {
                shape.insert(batch, at: 0)
                lifts[position.value] = .added
            }
        }
        if shape != new.type(result).dims { result = try add(Reshape(), [result, try dims(shape)], name: "positions") }
        renamed[position.value] = result
        return result
    }

    /// A node over positions that were the same for the whole batch and now are not.
    private mutating func writeLifted(_ node: Node, _ inputs: [ValueID?], _ label: String) throws {
        guard let output = node.outputs.first, node.outputs.count == 1 else { throw PassRefusal(label, "it takes positions in a way that is not known") }
        let kinds = node.inputs.map { $0.flatMap { lifts[$0] } }
        let isAdded = kinds.contains { $0 == .added }
        let batch = old.type(interface.ids).dims[0]
        func shifted(_ axis: Int, rank: Int) throws -> Int { try Shape.normalize(axis: axis, rank: rank) + (isAdded ? 1 : 0) }
        let oldDims = old.type(output).dims
        let result: ValueID
        switch node.op {
        case is Unary, is Cast, is Binary, is MatMul:
            result = try add(node.op, inputs, name: node.name, output: old[output].name)
        case is Reshape, is ExpandDims, is Squeeze, is Expand:
            guard kinds[0] != nil, let source = inputs[0] else { throw PassRefusal(label, "its shape depends on positions") }
            // What spreads over the batch has it already.
            let hasBatch = node.op is Expand && oldDims.first == batch
            let target = try dims(hasBatch ? oldDims : [batch] + (oldDims.first == 1 ? oldDims.dropFirst() : oldDims[...]))
            result = try node.op is Expand
                ? add(Expand(), [source, target], name: node.name, output: old[output].name) : add(Reshape(), [source, target], name: node.name, output: old[output].name)
        case let op as Transpose:
            guard isAdded || op.permutation.first == 0 else { throw PassRefusal(label, "it moves the batch of positions") }
            let permutation = isAdded ? [0] + op.permutation.map { $0 + 1 } : op.permutation
            result = try add(Transpose(permutation: permutation), inputs, name: node.name, output: old[output].name)
        case let op as Concat:
            guard !kinds.contains(where: { $0 == nil }), Set(kinds.map { $0 == .added }).count == 1 else { throw PassRefusal(label, "it joins positions with something else") }
            let axis = try shifted(op.axis, rank: oldDims.count)
            guard axis > 0 else { throw PassRefusal(label, "it joins positions along the batch") }
            result = try add(Concat(axis: axis), inputs, name: node.name, output: old[output].name)
        case let op as Slice:
            guard kinds.dropFirst().allSatisfy({ $0 == nil }) else { throw PassRefusal(label, "it takes positions in a way that is not known") }
            let axes = try op.axes.map { try shifted($0, rank: oldDims.count) }
            guard axes.allSatisfy({ $0 > 0 }) else { throw PassRefusal(label, "it cuts positions along the batch") }
            result = try add(Slice(axes: axes), inputs, name: node.name, output: old[output].name)
        case let op as Gather:
            guard op.axis == 0, kinds[0] == nil else { throw PassRefusal(label, "it takes positions in a way that is not known") }
            result = try add(op, inputs, name: node.name, output: old[output].name)
        default: throw PassRefusal(label, "\(node.op.mnemonic) takes positions in a way that is not known")
        }
        renamed[output] = result
        // What the batch's own data join has the batch already; everything else must have got it in one of the two ways.
        let newDims = new.type(result).dims
        if newDims == oldDims {
            lifts[output] = nil
        } else if newDims == [batch] + oldDims {
            lifts[output] = .added
        } else if oldDims.first == 1, newDims == [batch] + oldDims.dropFirst() {
            lifts[output] = .replacesOne
        } else {
            throw PassRefusal(label, "with positions for each row it is \(new.type(result)), was \(old.type(output))")
        }
    }
}
