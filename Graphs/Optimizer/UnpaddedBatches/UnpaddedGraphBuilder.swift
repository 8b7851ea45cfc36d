import GraphIR
import Operators
import Tensors

/// Writes an encoder again with its region on real tokens.
struct UnpaddedGraphBuilder {
    private let old: Graph
    private let region: UnpaddedRegion
    private let definitions: [ValueID: Int]
    private var new: Graph
    private var facts = FactTable()
    /// The values as they were.
    private var padded: [ValueID: ValueID] = [:]
    /// Those on real tokens: of `[batch, sequence, ...]` values `[1, tokens, ...]`.
    private var unpadded: [ValueID: ValueID] = [:]
    private var tokens: Tokens?

    /// What `token_rows` says, and the mask of the kept tokens, `[1, 1, 1, tokens]`.
    private struct Tokens {
        let rows: ValueID
        let positions: ValueID
        let offsets: ValueID
        let mask: ValueID
        /// `batch -> 1, sequence -> tokens`.
        let replacements: [String: Dim]
    }

    init(_ graph: Graph, _ region: UnpaddedRegion) {
        old = graph
        self.region = region
        definitions = graph.definitions()
        new = Graph(name: graph.name)
    }

    /// - Throws: `PassRefusal` where a node has another type on real tokens than its old one says.
    mutating func build() throws -> Graph {
        for id in old.inputs { padded[id] = new.addInput(old[id].name, old.type(id), default: old[id].inputDefault) }
        let needed = neededNodes()
        for number in old.nodes.indices where region.maskNodes.contains(number) { try writePadded(old.nodes[number]) }
        let tokens = try writeTokens()
        self.tokens = tokens
        for (number, node) in old.nodes.enumerated() where needed.contains(number) && !region.maskNodes.contains(number) {
            if region.nodes.contains(number) { try writeUnpadded(node, tokens) } else { try writePadded(node) }
        }
        for output in old.outputs { new.outputs.append(Output(name: output.name, value: try paddedValue(output.value))) }
        return new
    }

    private func neededNodes() -> Set<Int> {
        var found: Set<Int> = []
        var pending = old.outputs.map(\.value) + [region.bias].compactMap { $0 }
        while let value = pending.popLast() {
            guard let number = definitions[value], found.insert(number).inserted else { continue }
            pending += old.nodes[number].inputs.compactMap { $0 }
        }
        return found
    }

    private mutating func add(_ op: some Operator, _ inputs: [ValueID?], name: String, outputs: [String] = []) throws -> ValueID {
        guard let first = try facts.add(op, inputs, name: name, outputNames: outputs, to: &new).first else {
            throw PassRefusal(name, "\(op.mnemonic) has no output")
        }
        return first
    }

    private mutating func dims(_ dims: [Dim], _ name: String) throws -> ValueID {
        let numbers = dims.compactMap(\.fixedValue)
        if numbers.count == dims.count { return new.addConstant("shape", try Tensor(integers: numbers.map(Int64.init), shape: [numbers.count])) }
        return try add(Dims(dims), [], name: name)
    }

    private mutating func reshaped(_ value: ValueID, _ shape: [Dim], _ name: String) throws -> ValueID {
        new.type(value).dims == shape ? value : try add(Reshape(), [value, try dims(shape, name)], name: name)
    }

    // MARK: The border

    private mutating func writeTokens() throws -> Tokens {
        let name = "unpad"
        let mask = try paddedValue(region.mask)
        let matrix = try reshaped(mask, [region.batch, region.sequence], name)
        let made = try facts.add(
            TokenRows(leading: region.leading), [matrix], name: name, outputNames: ["tokens", "token_positions", "token_offsets"], to: &new)
        guard made.count == 3 else { throw PassRefusal(name, "token_rows has \(made.count) outputs") }
        let count = new.type(made[0]).dims[1]
        let flat = try reshaped(matrix, [try region.batch * region.sequence], name)
        let kept = try add(Gather(axis: 0), [flat, made[0]], name: name)
        let replacements = [region.batch.symbolName, region.sequence.symbolName].compactMap { $0 }
        return Tokens(
            rows: made[0], positions: made[1], offsets: made[2], mask: try reshaped(kept, [1, 1, 1, count], name),
            replacements: Dictionary(uniqueKeysWithValues: zip(replacements, [1, count])))
    }

    /// A value with its padding.
    private mutating func paddedValue(_ value: ValueID) throws -> ValueID {
        if let known = padded[value] { return known }
        if let tensor = old.constant(value) {
            padded[value] = new.addConstant(old[value].name, tensor)
        } else {
            guard let tokens, let x = unpadded[value], region.placement.places[value] == .axis(1) else {
                throw PassRefusal("%\(old[value].name)", "it is not made token by token")
            }
            let shape = try dims([region.batch, region.sequence], "pad")
            padded[value] = try add(
                PadTokens(), [x, tokens.rows, tokens.offsets, shape], name: "pad", outputs: ["\(old[value].name).padded"])
        }
        return padded[value] ?? value
    }

    /// A value without its padding.
    private mutating func unpaddedValue(_ value: ValueID, _ tokens: Tokens) throws -> ValueID {
        if let known = unpadded[value] { return known }
        guard region.placement.places[value] == .axis(1) else { throw PassRefusal("%\(old[value].name)", "it has no tokens in its second dimension") }
        let source = try paddedValue(value)
        let rest = old.type(value).dims[2...]
        let flat = try reshaped(source, [try region.batch * region.sequence] + rest, "unpad")
        let result = try add(Gather(axis: 0), [flat, tokens.rows], name: "unpad", outputs: ["\(old[value].name).tokens"])
        unpadded[value] = result
        return result
    }

    /// What is the same for all sequences, for each token by its position.
    private mutating func sharedValue(_ value: ValueID, axis: Int, _ tokens: Tokens) throws -> ValueID {
        let source = try paddedValue(value)
        let rows = try reshaped(source, Array(old.type(value).dims[axis...]), "unpad")
        return try add(Gather(axis: 0), [rows, tokens.positions], name: "unpad")
    }

    // MARK: Nodes

    private mutating func writePadded(_ node: Node) throws {
        let inputs = try node.inputs.map { try $0.map { try paddedValue($0) } }
        let outputs = try facts.add(node.op, inputs, name: node.name, outputNames: node.outputs.map { old[$0].name }, to: &new)
        for (output, copy) in zip(node.outputs, outputs) {
            padded[output] = copy
            // A recorded type may know more than inference does by itself.
            if new.type(copy).rank == old.type(output).rank { new.setType(copy, old.type(output)) }
        }
    }

    private mutating func writeUnpadded(_ node: Node, _ tokens: Tokens) throws {
        guard let output = node.outputs.first, let place = region.placement.places[output] else { return }
        var inputs = try node.inputs.map { input -> ValueID? in
            guard let input else { return nil }
            if region.placement.places[input] != nil { return try unpaddedValue(input, tokens) }
            if node.op is ScaledDotProductAttention { return tokens.mask }
            if let sequence = region.sequence.symbolName,
                let axis = UnpaddedRegion.sharedAxis(input, of: node, place, in: old, sequence: sequence)
            {
                return try sharedValue(input, axis: axis, tokens)
            }
            if let number = definitions[input], let shape = old.nodes[number].op as? Dims, !shape.isScalar {
                return try dims(try shape.elements.map { try $0.substituting(tokens.replacements) }, old.nodes[number].name)
            }
            return try paddedValue(input)
        }
        if node.op is ScaledDotProductAttention {
            inputs.append(tokens.offsets)
            if let bias = region.bias { inputs += [tokens.positions, try paddedValue(bias)] }
        }
        let copy = try add(node.op, inputs, name: node.name, outputs: [old[output].name])
        let expected = try old.type(output).dims.map { try $0.substituting(tokens.replacements) }
        guard new.type(copy).dims == expected else {
            throw PassRefusal(old.label(node), "on real tokens it is \(new.type(copy)), not \(TensorType(old.type(output).dtype, expected))")
        }
        unpadded[output] = copy
    }
}
