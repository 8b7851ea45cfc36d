import GraphIR
import Operators
import Tensors

/// The real tokens of one run's batch, found before the run is planned: the mask of the batch and what `token_rows` makes of it.
struct TokenBinding {
    /// The values that need not be computed any more.
    let values: [ValueID]
    let tensors: [Tensor]
    /// How many rows the graph runs on; nil where it does not ask.
    let count: Int?

    static let none = TokenBinding(values: [], tensors: [], count: nil)

    private init(values: [ValueID], tensors: [Tensor], count: Int?) {
        (self.values, self.tensors, self.count) = (values, tensors, count)
    }

    /// - Throws: `OperatorError` for a mask that the node does not take.
    init(_ node: Node, mask: ValueID, _ tensor: Tensor?) throws {
        let inputs = Inputs([tensor])
        let mask = try (mask, inputs[0])
        let rows = try node.op.evaluate(inputs)
        guard rows.count == node.outputs.count else { throw OperatorError(.unsupported, "gives \(rows.count) outputs, not \(node.outputs.count)") }
        self.init(values: [mask.0] + node.outputs, tensors: [mask.1] + rows, count: rows.first?.count)
    }
}
