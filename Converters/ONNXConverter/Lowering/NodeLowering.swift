import GraphIR
import Operators
import Tensors

/// Turns one ONNX node after the other into nodes of the graph. What the rules of the operators see: the current node's inputs, typed
/// attributes with their defaults, and the builder.
struct NodeLowering {
    var builder: GraphBuilder
    let path: String
    private(set) var node: ONNXNode
    private var inputs: [ValueID?] = []
    private(set) var results: [ValueID?] = []
    /// What the user should know of the nodes so far; each once.
    private(set) var warnings: [String] = []

    init(graph name: String, path: String) {
        builder = GraphBuilder(name: name)
        self.path = path
        node = ONNXNode(name: "", operatorName: OperatorName("", ""), overload: "", inputs: [], outputs: [], attributes: [])
    }

    /// Lowers a node.
    ///
    /// - Returns: The values of its outputs; nil for those that nobody uses.
    mutating func lower(_ node: ONNXNode, inputs: [ValueID?]) throws -> [ValueID?] {
        self.node = node
        self.inputs = inputs
        results = Array(repeating: nil, count: node.outputs.count)
        known = []
        guard let rule = OperatorTable.rule(for: node.operatorName) else {
            throw error(.unsupportedOperator, "is not supported")
        }
        do {
            try rule(&self)
        } catch let error as OperatorError {
            throw self.error(Self.kind(error.reason), error.description)
        } catch let error as TensorError {
            throw self.error(.malformedFile, error.description)
        }
        if let foreign = node.attributes.first(where: { !known.contains($0.name) }) {
            throw unsupported("the attribute \"\(foreign.name)\" in version \(node.opset)")
        }
        for (index, name) in node.outputs.enumerated() where !name.isEmpty && results[index] == nil {
            throw error(.unsupportedOperator, "its output \(index) is not supported")
        }
        return results
    }

    private static func kind(_ reason: OperatorError.Reason) -> ONNXError.Kind {
        switch reason {
        case .typeMismatch: return .typeMismatch
        case .shapeMismatch: return .shapeMismatch
        case .unsupportedType: return .unsupportedType
        case .unsupported: return .unsupportedOperator
        case .invalidAttribute: return .malformedFile
        }
    }

    /// An error that names the node.
    func error(_ kind: ONNXError.Kind, _ reason: String) -> ONNXError { ONNXError(kind, path: path, "\(node.label): \(reason)") }

    /// A variant of the operator that has no lowering.
    func unsupported(_ what: String) -> ONNXError { error(.unsupportedOperator, "\(what) is not supported") }

    mutating func warn(_ text: String) {
        if !warnings.contains(text) { warnings.append(text) }
    }

    var opset: Int { node.opset }

    // MARK: Inputs and outputs

    var inputCount: Int { inputs.count }

    /// The value of an input; nil when it is absent.
    func optionalInput(_ index: Int) -> ValueID? { index < inputs.count ? inputs[index] : nil }

    func input(_ index: Int) throws -> ValueID {
        guard let value = optionalInput(index) else { throw error(.malformedFile, "input \(index) is missing") }
        return value
    }

    /// All inputs of an operator that takes any number of them.
    func variadicInputs() throws -> [ValueID] {
        guard !inputs.isEmpty else { throw error(.malformedFile, "has no inputs") }
        return try inputs.indices.map { try input($0) }
    }

    func isUsed(output index: Int) -> Bool { index < node.outputs.count && !node.outputs[index].isEmpty }

    func type(_ value: ValueID) -> TensorType { builder.type(value) }

    func rank(_ value: ValueID) -> Int { builder.type(value).rank }

    func dtype(_ value: ValueID) -> DType { builder.type(value).dtype }

    /// An axis counted from the end as one from the start.
    func axis(_ axis: Int, rank: Int) throws -> Int {
        let result = axis < 0 ? axis &+ rank : axis
        guard result >= 0, result < rank else { throw error(.shapeMismatch, "axis \(axis) is outside a tensor of rank \(rank)") }
        return result
    }

    /// The elements of an integer input, which must be known when the model is converted; nil when it is absent.
    func integers(input index: Int) throws -> [Int]? {
        guard let value = optionalInput(index) else { return nil }
        if let known = builder.fact(value).value?.fixedValues { return known }
        if let constant = builder.fact(value).constant, !constant.dtype.isFloat { return constant.integers().map { Int($0) } }
        throw unsupported("input \(index) that is computed when the model runs")
    }

    // MARK: Attributes

    /// Attributes that the current rule looked at. One that it did not would change the result unnoticed.
    private var known: Set<String> = []

    private mutating func attribute(_ name: String) -> ONNXAttribute.Value? {
        known.insert(name)
        return node.attributes.first { $0.name == name }?.value
    }

    /// Attributes that make no difference here.
    mutating func ignore(_ names: String...) { known.formUnion(names) }

    private func wrongType(_ name: String, _ expected: String) -> ONNXError {
        error(.malformedFile, "attribute \"\(name)\" is not \(expected)")
    }

    mutating func has(_ name: String) -> Bool { attribute(name) != nil }

    mutating func int(_ name: String) throws -> Int? {
        switch attribute(name) {
        case nil: return nil
        case .int(let value)?: return value
        default: throw wrongType(name, "an integer")
        }
    }

    mutating func int(_ name: String, default value: Int) throws -> Int { try int(name) ?? value }

    mutating func requiredInt(_ name: String) throws -> Int {
        guard let value = try int(name) else { throw error(.malformedFile, "attribute \"\(name)\" is missing") }
        return value
    }

    mutating func flag(_ name: String, default value: Bool = false) throws -> Bool { try int(name).map { $0 != 0 } ?? value }

    mutating func float(_ name: String) throws -> Float? {
        switch attribute(name) {
        case nil: return nil
        case .float(let value)?: return value
        default: throw wrongType(name, "a float")
        }
    }

    mutating func float(_ name: String, default value: Float) throws -> Float { try float(name) ?? value }

    mutating func ints(_ name: String) throws -> [Int]? {
        switch attribute(name) {
        case nil: return nil
        case .ints(let values)?: return values
        default: throw wrongType(name, "a list of integers")
        }
    }

    mutating func floats(_ name: String) throws -> [Float]? {
        switch attribute(name) {
        case nil: return nil
        case .floats(let values)?: return values
        default: throw wrongType(name, "a list of floats")
        }
    }

    mutating func string(_ name: String, default value: String) throws -> String {
        switch attribute(name) {
        case nil: return value
        case .string(let value)?: return value
        default: throw wrongType(name, "a string")
        }
    }

    mutating func tensor(_ name: String) throws -> Tensor? {
        switch attribute(name) {
        case nil: return nil
        case .tensor(let tensor)?, .sparseTensor(let tensor)?: return try tensor.contents.get()
        default: throw wrongType(name, "a tensor")
        }
    }

    /// An attribute that must hold the one value that is supported.
    mutating func require(_ name: String, is expected: Int) throws {
        let value = try int(name, default: expected)
        if value != expected { throw unsupported("\(name) = \(value)") }
    }

    /// An element type given by its code.
    func dtype(code: Int) throws -> DType {
        guard let dtype = ElementType.dtype(code) else { throw error(.unsupportedType, "the element type \(ElementType.name(code)) is not supported") }
        return dtype
    }

    // MARK: Building

    /// An inner value of the lowering.
    mutating func apply(_ op: some Operator, _ operands: ValueID?...) throws -> ValueID { try apply(op, operands) }

    mutating func apply(_ op: some Operator, _ operands: [ValueID?]) throws -> ValueID {
        let values = try builder.add(op, operands, name: node.name, outputNames: [innerName(op.mnemonic)])
        guard let value = values.first else { throw error(.malformedFile, "\(op.mnemonic) gives no value") }
        return value
    }

    /// The inner values of an operator with several outputs.
    mutating func applyAll(_ op: some Operator, _ operands: [ValueID?]) throws -> [ValueID] {
        try builder.add(op, operands, name: node.name, outputNames: [innerName(op.mnemonic)])
    }

    private func innerName(_ step: String) -> String {
        let base = node.outputs.first { !$0.isEmpty }?.text ?? node.name
        return "\(base).\(step)"
    }

    /// The operator that gives output `index`; its value takes the name of the file.
    mutating func result(_ op: some Operator, _ operands: ValueID?..., output index: Int = 0) throws {
        try result(op, operands, output: index)
    }

    mutating func result(_ op: some Operator, _ operands: [ValueID?], output index: Int = 0) throws {
        guard index < results.count else { throw error(.malformedFile, "has no output \(index)") }
        let name = node.outputs[index].isEmpty ? innerName(op.mnemonic) : node.outputs[index].text
        results[index] = try builder.add(op, operands, name: node.name, outputNames: [name]).first
    }

    /// An operator whose outputs are those of the node.
    mutating func resultAll(_ op: some Operator, _ operands: [ValueID?]) throws {
        let names = node.outputs.map { $0.isEmpty ? innerName("unused") : $0.text }
        let values = try builder.add(op, operands, name: node.name, outputNames: names)
        for index in results.indices where index < values.count { results[index] = values[index] }
    }

    /// Output `index` is a value that exists already. An output beyond those of the node is nobody's.
    mutating func define(_ value: ValueID, output index: Int = 0) {
        if index < results.count { results[index] = value }
    }

    /// Output 0 is a constant.
    mutating func define(constant: Tensor) {
        define(builder.constant(constant, name: node.outputs.first.flatMap { $0.isEmpty ? nil : $0.text }))
    }

    mutating func scalar(_ value: Double, like other: ValueID) throws -> ValueID { try builder.scalar(value, dtype(other)) }

    mutating func integers(_ values: [Int]) throws -> ValueID { try builder.integers(values) }

    mutating func binary(_ kind: Binary.Kind, _ a: ValueID, _ b: ValueID) throws -> ValueID { try apply(Binary(kind), a, b) }

    mutating func cast(_ value: ValueID, to dtype: DType) throws -> ValueID {
        self.dtype(value) == dtype ? value : try apply(Cast(to: dtype), value)
    }

    /// Sizes `range` of a value as an i64 vector.
    mutating func sizes(_ value: ValueID, _ range: Range<Int>) throws -> ValueID {
        try apply(ShapeOf(start: range.lowerBound, end: range.upperBound), value)
    }

    /// The product of sizes as an i64 vector of one element; 1 for no sizes.
    mutating func sizeProduct(_ value: ValueID, _ range: Range<Int>) throws -> ValueID {
        if range.isEmpty { return try integers([1]) }
        return try apply(Reduce(.prod, axes: [0], keepDims: true), sizes(value, range))
    }

    /// The value as a matrix: dims before `axis` times dims from `axis` on.
    mutating func flattenedShape(_ value: ValueID, axis: Int) throws -> ValueID {
        let rows = try sizeProduct(value, 0..<axis)
        let columns = try sizeProduct(value, axis..<rank(value))
        return try apply(Concat(axis: 0), rows, columns)
    }

    /// `x[..., start..<end, ...]` along an axis.
    mutating func sliced(_ value: ValueID, axis: Int, from start: Int, to end: Int) throws -> ValueID {
        try apply(Slice(axes: [axis]), value, integers([start]), integers([end]))
    }
}
