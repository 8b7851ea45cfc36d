import GraphIR
import Operators
import Tensors

/// The nodes of an encoder that can run on real tokens alone, and what stands at their border.
struct UnpaddedRegion {
    /// What all attentions have as their mask, `[batch, 1, 1, sequence]`.
    let mask: ValueID
    /// What is added to it, `[1, heads, sequence, sequence]`; nil for none.
    let bias: ValueID?
    let batch: Dim
    let sequence: Dim
    /// Where values have their tokens: those of the region, and those before it whose first two dims are batch and sequence.
    let placement: TokenPlacement
    /// Numbers of the nodes.
    let nodes: Set<Int>
    /// Nodes that make the mask.
    let maskNodes: Set<Int>
    /// How many tokens from the start of each sequence are read by their place.
    let leading: Int

    /// nil for a graph without masked attention.
    ///
    /// - Throws: `PassRefusal` naming the node that reads other padding than the attentions' keys.
    init?(_ graph: Graph) throws {
        let attentions = graph.nodes.filter { $0.op is ScaledDotProductAttention }
        guard let whole = attentions.lazy.compactMap({ Self.mask($0) }).first else { return nil }
        for node in attentions { try Self.check(node, mask: whole, graph) }
        let definitions = graph.definitions()
        let (mask, bias) = Self.split(whole, graph, definitions)
        let dims = graph.type(mask).dims
        guard dims.count == 4, dims[1] == 1, dims[2] == 1, let batch = dims[0].symbolName, let sequence = dims[3].symbolName, batch != sequence else {
            throw PassRefusal(attentions.first.map(graph.label) ?? "", "its mask is \(graph.type(mask)), not [batch, 1, 1, sequence] with names for both")
        }
        (self.mask, self.bias) = (mask, bias)
        (self.batch, self.sequence) = (dims[0], dims[3])
        let isMaskNode = graph.ancestors(of: mask, definitions)
        maskNodes = isMaskNode

        var placement = try TokenPlacement(graph, batch: dims[0], sequence: dims[3])
        var region: Set<Int> = []
        var inRegion: Set<ValueID> = []
        var leading = 0
        func isBatch(_ id: ValueID) -> Bool { graph.type(id).rank >= 2 && Array(graph.type(id).dims[..<2]) == [dims[0], dims[3]] }
        for id in graph.inputs where isBatch(id) { placement.places[id] = .axis(1) }
        for (number, node) in graph.nodes.enumerated() {
            let reads = node.inputs.contains { $0.map(inRegion.contains) ?? false }
            let isFloat = node.outputs.allSatisfy { graph.type($0).dtype.isFloat }
            if !isMaskNode.contains(number), reads || isFloat, let place = try Self.place(node, in: placement, batch: batch, sequence: sequence) {
                for output in node.outputs { placement.places[output] = place }
                region.insert(number)
                inRegion.formUnion(node.outputs)
                continue
            }
            if reads { leading = max(leading, try Self.leadingTokens(node, inRegion, graph, mask: mask, definitions)) }
            for output in node.outputs where !reads && isBatch(output) { placement.places[output] = .axis(1) }
        }
        self.placement = placement
        self.leading = leading
        nodes = region
        for (number, node) in graph.nodes.enumerated() where node.op is ScaledDotProductAttention && !region.contains(number) {
            throw PassRefusal(graph.label(node), "its queries, keys or values are not made token by token")
        }
        for output in graph.outputs where inRegion.contains(output.value) && placement.places[output.value] != .axis(1) {
            throw PassRefusal("the output \(output.name)", "it is \(graph.type(output.value)), not one row for each token")
        }
    }

    private static func mask(_ node: Node) -> ValueID? { node.inputs.count > 3 ? node.inputs[3] : nil }

    /// A mask for all queries and heads, and a bias for all sequences.
    private static func split(_ mask: ValueID, _ graph: Graph, _ definitions: [ValueID: Int]) -> (mask: ValueID, bias: ValueID?) {
        let type = graph.type(mask)
        guard let number = definitions[mask], (graph.nodes[number].op as? Binary)?.kind == .add, type.rank == 4, let batch = type.dims[0].symbolName else {
            return (mask, nil)
        }
        let parts = graph.nodes[number].inputs.compactMap { $0 }
        let keys = [type.dims[0], 1, 1, type.dims[3]]
        guard parts.count == 2, let own = parts.firstIndex(where: { graph.type($0).dims == keys }) else { return (mask, nil) }
        let bias = graph.type(parts[1 - own])
        guard bias.rank == 4, bias.dims[0] == 1, bias.dims[2] == type.dims[3], bias.dims[3] == type.dims[3], !bias.dims[1].symbols.contains(batch) else {
            return (mask, nil)
        }
        return (parts[own], parts[1 - own])
    }

    private static func check(_ node: Node, mask: ValueID, _ graph: Graph) throws {
        guard let op = node.op as? ScaledDotProductAttention, !op.isCausal else { throw PassRefusal(graph.label(node), "it is causal") }
        guard node.inputs.count <= 4 else { throw PassRefusal(graph.label(node), "its rows are several sequences already") }
        guard Self.mask(node) == mask else { throw PassRefusal(graph.label(node), "its mask is not that of the first attention") }
    }

    /// nil where a node cannot run on real tokens alone.
    private static func place(_ node: Node, in placement: TokenPlacement, batch: String, sequence: String) throws -> TokenPlacement.Place? {
        let graph = placement.graph
        guard node.outputs.count == 1, let output = node.outputs.first else { return nil }
        if node.op is ScaledDotProductAttention {
            return (0..<3).allSatisfy { node.inputs[$0].map { placement.places[$0] == .axis(2) } ?? false } ? .axis(2) : nil
        }
        guard let place = try placement.place(of: node), placement.hasTokens(output, at: place) else { return nil }
        for case let input? in node.inputs where placement.places[input] == nil {
            let symbols = Set(graph.type(input).dims.flatMap(\.symbols))
            if symbols.contains(batch) || symbols.contains(sequence) && sharedAxis(input, of: node, place, in: graph, sequence: sequence) == nil { return nil }
        }
        return place
    }

    /// The axis of the tokens in an operand that is the same for all sequences, as position embeddings are; nil where it is none.
    ///
    /// Such an operand has dims of 1 before the tokens, is combined element by element, and its tokens fall on those of the result.
    static func sharedAxis(_ input: ValueID, of node: Node, _ place: TokenPlacement.Place, in graph: Graph, sequence: String) -> Int? {
        guard node.op is Binary || node.op is Compare || node.op is Select || node.op is Embedding, place == .axis(1), let output = node.outputs.first
        else { return nil }
        let dims = graph.type(input).dims
        // Ids have no width.
        let axis = dims.count - graph.type(output).rank + (node.op is Embedding ? 2 : 1)
        guard dims.indices.contains(axis), dims[..<axis].allSatisfy({ $0 == 1 }), dims[(axis + 1)...].allSatisfy({ !$0.symbols.contains(sequence) }),
            isSequence(dims[axis], sequence)
        else { return nil }
        return axis
    }

    /// The sequence itself, or as much of it as a table of positions holds.
    private static func isSequence(_ dim: Dim, _ sequence: String) -> Bool {
        if dim.symbolName == sequence { return true }
        guard dim.symbols == [sequence] else { return false }
        // min(n, sequence) for a table of more than one row.
        return [2, 3].allSatisfy { ((try? dim.evaluate([sequence: $0])) ?? nil) == $0 }
    }

    /// How far from the start of the sequences a node behind the region reads.
    ///
    /// - Throws: `PassRefusal` for a node that may read what stands at padded positions.
    private static func leadingTokens(
        _ node: Node, _ region: Set<ValueID>, _ graph: Graph, mask: ValueID, _ definitions: [ValueID: Int]
    ) throws -> Int {
        let label = graph.label(node)
        let refusal = PassRefusal(label, "tokens meet in it (\(node.op.mnemonic))")
        guard let x = node.inputs.first ?? nil, node.inputs.dropFirst().allSatisfy({ $0.map { !region.contains($0) } ?? true }),
            graph.type(x).rank >= 2
        else { throw refusal }
        switch node.op {
        case let op as Gather:
            guard try Shape.normalize(axis: op.axis, rank: graph.type(x).rank) == 1, let indices = node.inputs[1].flatMap({ graph.constant($0) }) else { throw refusal }
            let last = indices.integers().max() ?? 0
            guard indices.integers().allSatisfy({ $0 >= 0 }), last < 16 else { throw PassRefusal(label, "it reads tokens far from the first one") }
            return Int(last) + 1
        case let op as Slice:
            guard op.axes.count == 1, try Shape.normalize(axis: op.axes[0], rank: graph.type(x).rank) == 1, node.inputs.count == 3,
                let start = node.inputs[1].flatMap({ graph.constant($0) })?.integers().first,
                let end = node.inputs[2].flatMap({ graph.constant($0) })?.integers().first
            else { throw refusal }
            guard start >= 0, end >= 0, end <= 16 else { throw PassRefusal(label, "it reads tokens far from the first one") }
            return Int(end)
        case let op as Reduce:
            // A sum of what is 0 for padding, or of products with that, as the mean over real tokens has it.
            guard op.kind == .sum || op.kind == .mean, try op.axes.map({ try Shape.normalize(axis: $0, rank: graph.type(x).rank) }) == [1] else { throw refusal }
            let product = definitions[x].map { graph.nodes[$0] }
            let factors = (product?.op as? Binary)?.kind == .mul ? product?.inputs.compactMap { $0 } ?? [] : []
            let probe: PaddingProbe
            do { probe = try PaddingProbe(graph, mask: mask, definitions: definitions) } catch { throw PassRefusal(label, "\(error)") }
            guard ([x] + factors).contains(where: probe.isZeroAtPadding) else { throw refusal }
            return 0
        default: throw refusal
        }
    }
}
