import Tensors

/// Builds a graph front to back with full inference: what converters use.
public struct GraphBuilder: Sendable {
    public private(set) var graph: Graph
    private var facts = FactTable()
    /// Scalars and other small constants that were asked for before.
    private var interned: [InternKey: ValueID] = [:]

    private struct InternKey: Hashable {
        let dtype: DType
        let shape: [Int]
        let bytes: [UInt8]
    }

    public init(name: String) { graph = Graph(name: name) }

    public mutating func input(_ name: String, _ type: TensorType, default inputDefault: InputDefault? = nil) -> ValueID {
        graph.addInput(name, type, default: inputDefault)
    }

    /// A constant. Small ones (up to 64 bytes) without a name of their own are shared.
    public mutating func constant(_ tensor: Tensor, name: String? = nil) -> ValueID {
        guard name == nil, tensor.byteCount <= 64 else { return graph.addConstant(name ?? "constant", tensor) }
        let key = InternKey(dtype: tensor.dtype, shape: tensor.shape, bytes: tensor.withUnsafeBytes { Array($0) })
        if let known = interned[key] { return known }
        let id = graph.addConstant("constant", tensor)
        interned[key] = id
        return id
    }

    /// A rank-0 constant of `dtype`.
    public mutating func scalar(_ value: Double, _ dtype: DType) throws -> ValueID {
        constant(try Tensor(doubles: [value], dtype: dtype, shape: []))
    }

    /// An i64 vector constant.
    public mutating func integers(_ values: [Int]) throws -> ValueID {
        constant(try Tensor(integers: values.map(Int64.init), shape: [values.count]))
    }

    /// Applies an operator with several outputs.
    ///
    /// - Throws: `OperatorError` of the type rule.
    public mutating func add(
        _ op: some Operator, _ inputs: [ValueID?], name: String = "", outputNames: [String] = []
    ) throws -> [ValueID] {
        try facts.add(op, inputs, name: name, outputNames: outputNames, to: &graph)
    }

    /// Applies an operator with one output.
    public mutating func apply(_ op: some Operator, _ inputs: ValueID?..., name: String = "", output: String? = nil) throws -> ValueID {
        let outputs = try add(op, inputs, name: name, outputNames: output.map { [$0] } ?? [])
        guard let first = outputs.first else { throw OperatorError(.invalidAttribute, "\(op.mnemonic) has no output") }
        return first
    }

    public func fact(_ id: ValueID) -> Fact { facts.fact(id, in: graph) }

    public func type(_ id: ValueID) -> TensorType { graph.type(id) }

    public mutating func output(_ name: String, _ value: ValueID) {
        graph.outputs.append(Output(name: name, value: value))
    }

    /// Replaces a symbol that turned out to be something else in the types of the inputs recorded so far.
    public mutating func setInputType(_ id: ValueID, _ type: TensorType) { graph.setType(id, type) }
}
