import GraphIR
import Operators
import Tensors

/// Makes sure that tokens meet in cached attentions only: then the new tokens alone, with a cache of the earlier ones, give what all at once give.
enum TokenwiseCheck {
    /// - Throws: `PassRefusal` naming the first node in which tokens meet.
    static func run(_ graph: Graph) throws {
        guard let ids = graph.inputs.first else { return }
        var placement = try TokenPlacement(graph, batch: graph.type(ids).dims[0], sequence: CausalInterface.sequence)
        for id in graph.inputs { placement.places[id] = .axis(1) }
        for node in graph.nodes { try visit(node, &placement) }
        for output in graph.outputs where placement.places[output.value] != .axis(1) {
            throw PassRefusal("the output \(output.name)", "it is \(graph.type(output.value)), not one row for each token")
        }
    }

    private static func visit(_ node: Node, _ placement: inout TokenPlacement) throws {
        let graph = placement.graph
        let label = graph.label(node)
        guard let output = node.outputs.first else { return }
        if node.inputs.allSatisfy({ $0.map { placement.places[$0] == nil } ?? true }) {
            // Sizes and numbers that are the same for all tokens; one spread over the tokens is still the same for each.
            for output in node.outputs {
                let dims = graph.type(output).dims
                guard dims.contains(where: { $0.symbols.contains("sequence") }) else { continue }
                guard node.op is Expand || node.op is Fill, dims.filter({ $0.symbols.contains("sequence") }) == [CausalInterface.sequence],
                    let axis = dims.firstIndex(of: CausalInterface.sequence),
                    node.op is Fill || node.inputs.first.flatMap({ $0 }).map({ graph.type($0).dims.allSatisfy { !$0.symbols.contains("sequence") } }) ?? false
                else { throw PassRefusal(label, "it depends on the number of tokens") }
                placement.places[output] = .axis(axis)
            }
            return
        }
        guard let place = try placement.place(of: node) else { throw PassRefusal(label, "tokens may meet in it (\(node.op.mnemonic))") }
        placement.places[output] = place
        if node.op is DynamicQuantize { return }
        guard node.outputs.count == 1 else { throw PassRefusal(label, "tokens may meet in it (\(node.op.mnemonic))") }
        guard placement.hasTokens(output, at: place) else {
            throw PassRefusal(label, "its \(graph.type(output)) has no dimension of the tokens where it should")
        }
    }
}
