import GraphIR
import Operators
import Tensors

/// Finds out what values that follow from a batch's mask are at padded positions: for every pattern of padding of a few tokens.
struct PaddingProbe {
    private let graph: Graph
    private let definitions: [ValueID: Int]
    private let values: [ValueID: Tensor]
    private let symbols: [String: Int]
    /// Of each token: it is padding, in a sequence with real tokens.
    private let isPadding: [Bool]

    private static let sequence = 5

    /// - Parameter mask: `[batch, 1, 1, sequence]`, made of one input `[batch, sequence]`.
    /// - Throws: `RuleMismatch` where it is made of something else, and what its operators throw.
    init(_ graph: Graph, mask: ValueID, definitions: [ValueID: Int]) throws {
        self.graph = graph
        self.definitions = definitions
        let nodes = graph.ancestors(of: mask, definitions)
        let sources = graph.inputs.filter { input in input == mask || nodes.contains { graph.nodes[$0].inputs.contains(input) } }
        guard sources.count == 1, let source = sources.first, graph.type(source).rank == 2 else {
            throw RuleMismatch("the mask is not made of one input [batch, sequence]")
        }
        let (batch, sequence) = (1 << Self.sequence, Self.sequence)
        var symbols: [String: Int] = [:]
        for (dim, size) in zip(graph.type(source).dims + [graph.type(mask).dims[0]], [batch, sequence, batch]) {
            if let name = dim.symbolName { symbols[name] = size }
        }
        self.symbols = symbols
        let bits = (0..<batch).flatMap { row in (0..<sequence).map { Int64(row >> $0 & 1) } }
        values = [source: try Tensor(integers: bits, dtype: graph.type(source).dtype, shape: [batch, sequence])]
        isPadding = bits.indices.map { bits[$0] == 0 && $0 >= sequence }
        let made = try evaluate(mask)
        let isReal = TokenRows.isReal(made)
        guard made.shape == [batch, 1, 1, sequence], isReal == bits.map({ $0 == 1 }) else {
            throw RuleMismatch("the mask is something else than the input \(graph[source].name)")
        }
    }

    private func evaluate(_ value: ValueID) throws -> Tensor {
        var evaluator = SubgraphEvaluator(graph, definition: { definitions[$0].map { graph.nodes[$0] } }, symbols: symbols, values: values)
        return try evaluator.evaluate(value)
    }

    /// Whether a value `[batch, sequence, ...]` follows from the mask alone and is 0 wherever padding stands beside real tokens.
    func isZeroAtPadding(_ value: ValueID) -> Bool {
        guard let tensor = try? evaluate(value), tensor.rank >= 2, Array(tensor.shape[..<2]) == [1 << Self.sequence, Self.sequence] else { return false }
        let width = tensor.count / isPadding.count
        return tensor.doubles().enumerated().allSatisfy { !isPadding[$0.offset / width] || $0.element == 0 }
    }
}

extension Graph {
    /// The numbers of the nodes that a value is made of.
    func ancestors(of value: ValueID, _ definitions: [ValueID: Int]) -> Set<Int> {
        var found: Set<Int> = []
        var pending = [value]
        while let next = pending.popLast() {
            guard let number = definitions[next], found.insert(number).inserted else { continue }
            pending += nodes[number].inputs.compactMap { $0 }
        }
        return found
    }
}
