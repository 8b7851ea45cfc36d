import GraphIR
import Operators
import Tensors

/// Evaluates single values of a graph with the reference evaluation of its operators, for given sizes and given values. What is too large,
/// or of a size that only data tell, is an error.
struct SubgraphEvaluator {
    private let graph: Graph
    private let definition: (ValueID) -> Node?
    private let symbols: [String: Int]
    /// Given ones at first; evaluated ones join them.
    private var known: [ValueID: Tensor]

    /// Masks and positions of probes stay far below.
    private static let maximumCount = 1 << 24

    /// - Parameters:
    ///   - graph: Where values have their types and names.
    ///   - definition: The node that defines a value.
    ///   - symbols: The sizes that names of dims stand for.
    init(_ graph: Graph, definition: @escaping (ValueID) -> Node?, symbols: [String: Int], values: [ValueID: Tensor]) {
        self.graph = graph
        self.definition = definition
        self.symbols = symbols
        known = values
    }

    /// - Throws: `RuleMismatch` where the value depends on an input that is not given, and what operators throw.
    mutating func evaluate(_ value: ValueID) throws -> Tensor {
        // Operands first, without recursion: files may nest as deep as they like.
        var pending = [value]
        while let next = pending.last {
            if known[next] != nil || graph.constant(next) != nil {
                pending.removeLast()
                continue
            }
            guard let node = definition(next) else { throw RuleMismatch("it depends on the input %\(graph[next].name)") }
            let missing = node.inputs.compactMap { $0 }.filter { known[$0] == nil && graph.constant($0) == nil }
            guard missing.isEmpty else {
                pending += missing
                continue
            }
            pending.removeLast()
            for (output, result) in zip(node.outputs, try results(of: node)) { known[output] = result }
        }
        return try tensor(value)
    }

    private func results(of node: Node) throws -> [Tensor] {
        for output in node.outputs { try checkSize(graph.type(output)) }
        guard let dims = node.op as? Dims else { return try node.op.evaluate(Inputs(try node.inputs.map { try $0.map(tensor) })) }
        let elements = try dims.elements.map { element -> Int64 in
            guard let size = try element.evaluate(symbols) else { throw RuleMismatch("\(element) is not known from the inputs' sizes") }
            return Int64(size)
        }
        return [try Tensor(integers: elements, shape: dims.isScalar ? [] : [elements.count])]
    }

    private func tensor(_ value: ValueID) throws -> Tensor {
        guard let tensor = known[value] ?? graph.constant(value) else { throw RuleMismatch("%\(graph[value].name) is needed") }
        return tensor
    }

    private func checkSize(_ type: TensorType) throws {
        let sizes = try type.dims.map { dim -> Int in
            guard let size = try dim.evaluate(symbols) else { throw RuleMismatch("the size \(dim) is not known from those of the inputs") }
            return size
        }
        guard try Shape.count(sizes) <= Self.maximumCount else { throw RuleMismatch("\(type) is too large to look through") }
    }
}
