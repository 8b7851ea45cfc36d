import Tensors

extension Graph {
    /// Reads the text form and verifies the graph.
    ///
    /// - Parameters:
    ///   - registry: The operators that the text may name.
    ///   - constants: Gives the contents of a constant that the text leaves out (`@`), by the value's name; those of a block type may
    ///     come as bytes (`Tensor.blocksAsBytes`).
    /// - Throws: `GraphTextError` with line and column, `VerificationError`, or what `constants` throws.
    public init(
        parsing text: String, registry: [any Operator.Type],
        constants: (String) throws -> Tensor = { throw TensorError("the contents of the constant \($0) are not given") }
    ) throws {
        var parser = GraphParser(text, OperatorTable(registry))
        self = try parser.graph(constants)
        try verify()
    }
}

private struct GraphParser {
    private var scanner: TextScanner
    private let operators: OperatorTable
    private var graph = Graph(name: "")
    private var values: [ExactName: ValueID] = [:]

    init(_ text: String, _ operators: OperatorTable) {
        scanner = TextScanner(text)
        self.operators = operators
    }

    mutating func graph(_ constants: (String) throws -> Tensor) throws -> Graph {
        guard try scanner.word() == "graph" else { throw scanner.error("graph text starts with the word 'graph'", at: 0) }
        graph.name = try scanner.string()
        try scanner.expect("{")
        while !scanner.take("}") {
            if scanner.peek() == UInt8(ascii: "%") {
                try node()
                continue
            }
            let start = scanner.position
            switch try scanner.word() {
            case "input": try input()
            case "constant": try constant(constants)
            case "output": try output()
            case let word: throw scanner.error("expected input, constant, output or a value, found '\(word)'", at: start)
            }
        }
        guard scanner.peek() == nil else { throw scanner.error("text after the end of the graph") }
        return graph
    }

    /// `%name`, to be defined here.
    private mutating func definition() throws -> String {
        let start = scanner.position
        let name = try scanner.reference()
        guard !name.isEmpty else { throw scanner.error("an empty name", at: start) }
        return name
    }

    private mutating func define(_ name: String, at start: Int, _ add: (inout Graph) -> ValueID) throws {
        // The graph compares names as strings, so that canonically equivalent ones clash as well.
        guard graph.uniqueName(name) == name else { throw scanner.error("\(TextScanner.reference(name)) is defined a second time", at: start) }
        values[ExactName(name)] = add(&graph)
    }

    private mutating func use() throws -> ValueID {
        let start = scanner.position
        let name = try scanner.reference()
        guard let id = values[ExactName(name)] else { throw scanner.error("\(TextScanner.reference(name)) is not defined before", at: start) }
        return id
    }

    private mutating func input() throws {
        let start = scanner.position
        let name = try definition()
        try scanner.expect(":")
        let type = try scanner.type()
        var inputDefault: InputDefault?
        if scanner.take("=") {
            let word = try scanner.word()
            guard let known = InputDefault(rawValue: word) else { throw scanner.error("unknown default '\(word)'") }
            inputDefault = known
        }
        try define(name, at: start) { $0.addInput(name, type, default: inputDefault) }
    }

    private mutating func constant(_ constants: (String) throws -> Tensor) throws {
        let start = scanner.position
        let name = try definition()
        try scanner.expect(":")
        let type = try scanner.type()
        try scanner.expect("=")
        let tensor: Tensor
        if scanner.take("@") {
            let stored = try constants(name)
            // A container that has no name for a block type gives its bytes.
            tensor = type.dtype.isBlock && stored.dtype == .u8 ? try stored.bytesAsBlocks(type.dtype) : stored
            guard TensorType(tensor.dtype, shape: tensor.shape) == type else {
                let found = TensorType(tensor.dtype, shape: tensor.shape)
                throw scanner.error("the contents of \(TextScanner.reference(name)) are \(found), declared as \(type)", at: start)
            }
        } else {
            let contents = scanner.position
            do {
                tensor = try ElementText.tensor(scanner.attribute(), type)
            } catch let fault as AttributeError {
                throw scanner.error(fault.description, at: contents)
            }
        }
        try define(name, at: start) { $0.addConstant(name, tensor) }
    }

    private mutating func output() throws {
        let name = try scanner.string()
        try scanner.expect("=")
        graph.outputs.append(Output(name: name, value: try use()))
    }

    private mutating func node() throws {
        let start = scanner.position
        var names: [String] = []
        repeat { names.append(try definition()) } while scanner.take(",")
        try scanner.expect("=")
        _ = scanner.peek()
        let place = scanner.position
        let mnemonic = try scanner.word()
        try scanner.expect("(")
        var operands: [ValueID?] = []
        if !scanner.take(")") {
            repeat { operands.append(scanner.take("_") ? nil : try use()) } while scanner.take(",")
            try scanner.expect(")")
        }
        let attributes = scanner.peek() == UInt8(ascii: "{") ? try scanner.attributes() : []
        let op: any Operator
        do {
            op = try operators.make(mnemonic, attributes)
        } catch let fault as AttributeError {
            throw scanner.error(fault.description, at: place)
        }
        try scanner.expect(":")
        var types: [TensorType] = []
        repeat { types.append(try scanner.type()) } while scanner.take(",")
        guard types.count == names.count else {
            throw scanner.error("\(names.count) outputs, but \(types.count) types", at: start)
        }
        let name = scanner.peek() == UInt8(ascii: "\"") ? try scanner.string() : ""
        for (name, type) in zip(names, types) { try define(name, at: start) { $0.addValue(name, type) } }
        let outputs = names.compactMap { values[ExactName($0)] }
        graph.nodes.append(Node(op: op, inputs: operands, outputs: outputs, name: name))
    }
}
