import Tensors

/// Names a value of one graph: an index into its table.
public struct ValueID: Hashable, Sendable, Comparable {
    public let index: Int
    init(_ index: Int) { self.index = index }
    public static func < (a: ValueID, b: ValueID) -> Bool { a.index < b.index }
}

/// What fills an input that a caller leaves out. `%attention_mask : i64[batch, sequence] = ones` in text.
public enum InputDefault: String, Sendable, Hashable, Codable, CaseIterable {
    case zeros, ones
}

/// A tensor that flows through the graph: an input, a constant, or an output of a node.
public struct Value: Sendable {
    /// Unique in its graph; the safetensors key of a constant.
    public internal(set) var name: String
    public internal(set) var type: TensorType
    /// The contents of a constant.
    public internal(set) var constant: Tensor?
    /// Of an input: what stands in where it is not given; its shape is the type's. nil: the input is required.
    public internal(set) var inputDefault: InputDefault?
}

/// One application of an operator.
public struct Node: Sendable {
    public var op: any Operator
    /// nil stands for an optional operand that is absent.
    public var inputs: [ValueID?]
    public var outputs: [ValueID]
    /// Where the node comes from (the source file's node name); may be empty, need not be unique.
    public var name: String

    public init(op: any Operator, inputs: [ValueID?], outputs: [ValueID], name: String) {
        self.op = op
        self.inputs = inputs
        self.outputs = outputs
        self.name = name
    }
}

/// A named result of a graph.
public struct Output: Sendable, Hashable {
    public var name: String
    public var value: ValueID

    public init(name: String, value: ValueID) {
        self.name = name
        self.value = value
    }
}

/// A directed acyclic graph of typed operators in single-assignment form. Nodes stand in an order in which they can run.
public struct Graph: Sendable {
    public var name: String
    /// May hold values that nothing mentions any more; `compacted()` drops them.
    public private(set) var values: [Value] = []
    public private(set) var inputs: [ValueID] = []
    public var outputs: [Output] = []
    public var nodes: [Node] = []
    private var names: Set<String> = []

    public init(name: String) { self.name = name }

    public subscript(_ id: ValueID) -> Value { values[id.index] }

    public func type(_ id: ValueID) -> TensorType { values[id.index].type }

    public func constant(_ id: ValueID) -> Tensor? { values[id.index].constant }

    /// All constants that nodes or outputs use, in order of first use.
    public var usedConstants: [ValueID] {
        var seen: Set<ValueID> = []
        var result: [ValueID] = []
        for id in nodes.lazy.flatMap({ $0.inputs }).compactMap({ $0 }) + outputs.map(\.value)
        where values[id.index].constant != nil && seen.insert(id).inserted {
            result.append(id)
        }
        return result
    }

    /// A name that no value has: `base`, else `base_1`, `base_2`, ...
    public func uniqueName(_ base: String) -> String {
        let base = base.isEmpty ? "value" : base
        guard names.contains(base) else { return base }
        var number = 1
        while names.contains("\(base)_\(number)") { number += 1 }
        return "\(base)_\(number)"
    }

    /// Adds a value that a node will define. The name is made unique.
    public mutating func addValue(_ name: String, _ type: TensorType) -> ValueID {
        let name = uniqueName(name)
        names.insert(name)
        values.append(Value(name: name, type: type))
        return ValueID(values.count - 1)
    }

    /// Adds an input. One with a default is optional for callers; every symbol of its type must occur in a required input.
    public mutating func addInput(_ name: String, _ type: TensorType, default inputDefault: InputDefault? = nil) -> ValueID {
        let id = addValue(name, type)
        values[id.index].inputDefault = inputDefault
        inputs.append(id)
        return id
    }

    public mutating func addConstant(_ name: String, _ tensor: Tensor) -> ValueID {
        let id = addValue(name, TensorType(tensor.dtype, shape: tensor.shape))
        values[id.index].constant = tensor
        return id
    }

    public mutating func setType(_ id: ValueID, _ type: TensorType) { values[id.index].type = type }

    /// Makes a value a constant; the caller removes the node that defined it.
    public mutating func setConstant(_ id: ValueID, _ tensor: Tensor) {
        values[id.index].constant = tensor
        values[id.index].type = TensorType(tensor.dtype, shape: tensor.shape)
    }

    /// Adds a node at the end; infers and records the types of its outputs.
    ///
    /// - Parameter outputNames: Names of the output values; made up from the operator's name where there are too few.
    /// - Throws: `OperatorError` of the type rule.
    @discardableResult
    public mutating func add(
        _ op: some Operator, _ inputs: [ValueID?], name: String = "", outputNames: [String] = []
    ) throws -> [ValueID] {
        let base = outputNames.first ?? (name.isEmpty ? op.mnemonic : name)
        let types = try op.inferTypes(operands(inputs, symbolPrefix: base))
        let outputs = types.enumerated().map { index, type in
            addValue(index < outputNames.count ? outputNames[index] : base, type)
        }
        nodes.append(Node(op: op, inputs: inputs, outputs: outputs, name: name))
        return outputs
    }

    /// What types and constants alone tell of a node's operands. Elements of shape tensors come from `FactTable`.
    public func operands(_ inputs: [ValueID?], symbolPrefix: String) -> Operands {
        Operands(inputs.map { id in id.map { Fact(values[$0.index].type, constant: values[$0.index].constant) } }, symbolPrefix: symbolPrefix)
    }

    /// Lets every use of `old` (by nodes and outputs) use `new`.
    public mutating func replaceUses(of old: ValueID, with new: ValueID) {
        for index in nodes.indices {
            for operand in nodes[index].inputs.indices where nodes[index].inputs[operand] == old {
                nodes[index].inputs[operand] = new
            }
        }
        for index in outputs.indices where outputs[index].value == old { outputs[index].value = new }
    }

    /// The node that defines each value.
    public func definitions() -> [ValueID: Int] {
        var result: [ValueID: Int] = [:]
        for (index, node) in nodes.enumerated() {
            for output in node.outputs { result[output] = index }
        }
        return result
    }

    /// The nodes that use each value, once per use.
    public func uses() -> [ValueID: [Int]] {
        var result: [ValueID: [Int]] = [:]
        for (index, node) in nodes.enumerated() {
            for case let input? in node.inputs { result[input, default: []].append(index) }
        }
        return result
    }

    /// The same graph without the values that nothing mentions. Inputs stay.
    public func compacted() -> Graph {
        var result = Graph(name: name)
        var renamed: [ValueID: ValueID] = [:]
        func isUsed(_ id: ValueID) -> Bool { used.contains(id) }
        var used = Set(inputs)
        used.formUnion(outputs.map(\.value))
        for node in nodes {
            used.formUnion(node.inputs.compactMap { $0 })
            used.formUnion(node.outputs)
        }
        let inputSet = Set(inputs)
        for id in inputs {
            let value = values[id.index]
            renamed[id] = result.addInput(value.name, value.type, default: value.inputDefault)
        }
        for index in values.indices where used.contains(ValueID(index)) && !inputSet.contains(ValueID(index)) {
            let value = values[index]
            if let tensor = value.constant {
                renamed[ValueID(index)] = result.addConstant(value.name, tensor)
            } else {
                renamed[ValueID(index)] = result.addValue(value.name, value.type)
            }
        }
        result.nodes = nodes.map { node in
            var node = node
            node.inputs = node.inputs.map { $0.flatMap { renamed[$0] } }
            node.outputs = node.outputs.compactMap { renamed[$0] }
            return node
        }
        result.outputs = outputs.compactMap { output in renamed[output.value].map { Output(name: output.name, value: $0) } }
        return result
    }

    /// All symbols of the inputs' types, in order of appearance.
    public var inputSymbols: [String] {
        var seen: Set<String> = []
        var result: [String] = []
        for id in inputs {
            for dim in type(id).dims {
                for symbol in dim.symbols.sorted() where seen.insert(symbol).inserted { result.append(symbol) }
            }
        }
        return result
    }
}
