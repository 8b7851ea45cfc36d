import Tensors

/// What a graph consists of, in numbers.
public struct GraphSummary: Sendable, Hashable {
    /// How many nodes apply an operator.
    public struct OperatorCount: Sendable, Hashable {
        public let name: String
        public let count: Int
    }

    /// All constants of one element type.
    public struct ConstantCount: Sendable, Hashable {
        public let dtype: DType
        public let tensors: Int
        public let elements: Int
        public var byteCount: Int { dtype.byteCount(forElements: elements) ?? 0 }
    }

    public let nodeCount: Int
    /// Most frequent first, then by name.
    public let operators: [OperatorCount]
    /// Largest element type first.
    public let constants: [ConstantCount]
    /// Elements of float constants and of quantised ones (i8, u8, blocks): what is called a model's number of parameters.
    public let parameterCount: Int
    /// Bytes of all constants.
    public let byteCount: Int
    /// Names of sizes that are known at run time.
    public let symbols: [String]

    public init(_ graph: Graph) {
        nodeCount = graph.nodes.count
        var counts: [String: Int] = [:]
        for node in graph.nodes { counts[node.op.mnemonic, default: 0] += 1 }
        operators = counts.map { OperatorCount(name: $0.key, count: $0.value) }.sorted { ($1.count, $0.name) < ($0.count, $1.name) }
        let tensors = graph.usedConstants.compactMap { graph.constant($0) }
        constants = DType.allCases.compactMap { dtype in
            let matching = tensors.filter { $0.dtype == dtype }
            return matching.isEmpty
                ? nil : ConstantCount(dtype: dtype, tensors: matching.count, elements: matching.reduce(0) { $0 + $1.count })
        }
        parameterCount = constants.filter { $0.dtype.isFloat || $0.dtype.isBlock || $0.dtype == .i8 || $0.dtype == .u8 }.reduce(0) { $0 + $1.elements }
        byteCount = constants.reduce(0) { $0 + $1.byteCount }
        symbols = graph.inputSymbols
    }
}

extension Graph {
    public var summary: GraphSummary { GraphSummary(self) }
}
