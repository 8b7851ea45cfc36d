import GraphIR
import Operators
import Tensors

/// Follows the dimension of the tokens of a batch through the nodes of a graph.
struct TokenPlacement {
    /// Where a value has its tokens.
    enum Place: Hashable {
        /// Dimension `axis` is the sequence.
        case axis(Int)
        /// Dimension 0 is the batch's sequences one behind the other.
        case merged
    }

    let graph: Graph
    private let batch: Dim
    private let sequence: Dim
    private let merged: Dim
    /// Of values that have tokens.
    var places: [ValueID: Place] = [:]

    /// - Parameters:
    ///   - batch: The dim of the sequences.
    ///   - sequence: The dim of the tokens of each.
    init(_ graph: Graph, batch: Dim, sequence: Dim) throws {
        self.graph = graph
        self.batch = batch
        self.sequence = sequence
        merged = try batch * sequence
    }

    /// Whether a value's type has the tokens at a place.
    func hasTokens(_ value: ValueID, at place: Place) -> Bool {
        let dims = graph.type(value).dims
        switch place {
        case .merged: return dims.first == merged
        case .axis(let axis): return dims.indices.contains(axis) && dims[axis] == sequence
        }
    }

    private func place(_ node: Node, _ index: Int) -> Place? { index < node.inputs.count ? node.inputs[index].flatMap { places[$0] } : nil }

    private func rank(_ node: Node, _ index: Int) -> Int { index < node.inputs.count ? node.inputs[index].map { graph.type($0).rank } ?? 0 : 0 }

    /// Where the first output of a node has its tokens, given the places of its operands; nil where tokens may meet in it, or there are none.
    func place(of node: Node) throws -> Place? {
        guard let output = node.outputs.first else { return nil }
        let first = place(node, 0)
        /// Operands after the first hold no tokens.
        var othersAreFree: Bool { node.inputs.indices.dropFirst().allSatisfy { place(node, $0) == nil } }
        let axis: Int
        switch first {
        case .axis(let position): axis = position
        case .merged: axis = 0
        case nil: axis = -1
        }
        switch node.op {
        case is CachedAttention, is CachePositions: return .axis(1)
        case is Unary, is Cast: return first
        case is Binary, is Compare, is Select: return aligned(node, output)
        case is Linear:
            // Weight, bias and scale are constants; the residual has the tokens where the input has them.
            guard first != nil, axis < rank(node, 0) - 1, place(node, 1) == nil, place(node, 2) == nil, place(node, 4) == nil else { return nil }
            return place(node, 3) == nil || place(node, 3) == first ? first : nil
        case is MatMul, is MatMulInteger:
            if let op = node.op as? MatMul, op.transposeA { return nil }
            let end = graph.type(output).rank
            // The tokens are rows of the first factor or columns of the second; the other holds none.
            if first == nil, let op = node.op as? MatMul, !op.transposeB, place(node, 1) == .axis(rank(node, 1) - 1) { return .axis(end - 1) }
            guard first != nil, othersAreFree, axis < rank(node, 0) - 1 else { return nil }
            return first == .merged ? (rank(node, 1) == 2 ? first : nil) : .axis(axis + end - rank(node, 0))
        case let op as LayerNorm: return first != nil && axis < rank(node, 0) - op.normalizedRank ? (try addedResidual(node, first)) : nil
        case is RMSNorm, is RotaryEmbedding:
            let end = node.op is RMSNorm ? rank(node, 0) - 1 : 2
            return first != nil && axis < end && (node.op is RotaryEmbedding ? place(node, 1) == .axis(1) && first == .axis(1) : othersAreFree) ? first : nil
        case let op as Softmax: return try Shape.normalize(axis: op.axis, rank: rank(node, 0)) == axis ? nil : first
        case let op as Reduce:
            let axes = try op.axes.map { try Shape.normalize(axis: $0, rank: rank(node, 0)) }
            guard !axes.isEmpty, !axes.contains(axis) else { return nil }
            return op.keepDims || first == .merged ? first : .axis(axis - axes.filter { $0 < axis }.count)
        case is Reshape, is ExpandDims, is Squeeze:
            return first != nil && othersAreFree ? try reshaped(node, output, axis) : nil
        case is Expand:
            guard first != nil, othersAreFree else { return nil }
            return first == .merged ? nil : .axis(axis + graph.type(output).rank - rank(node, 0))
        case let op as Transpose: return first == .merged ? (op.permutation.first == 0 ? .merged : nil) : op.permutation.firstIndex(of: axis).map { .axis($0) }
        case let op as Concat:
            let joined = try Shape.normalize(axis: op.axis, rank: rank(node, 0))
            return joined != axis && node.inputs.indices.allSatisfy { place(node, $0) == first } ? first : nil
        case let op as Slice:
            let axes = try op.axes.map { try Shape.normalize(axis: $0, rank: rank(node, 0)) }
            return othersAreFree && !axes.contains(axis) && first != nil ? first : nil
        case is Embedding:
            // Ids that have no tokens are the same for all sequences, or one for all tokens.
            let ids = [1, 3, 5].map { place(node, $0) }
            return ids.contains(.axis(1)) && ids.allSatisfy { $0 == nil || $0 == .axis(1) } ? .axis(1) : nil
        case let op as Gather:
            if first == nil, case .axis(let position)? = place(node, 1) { return .axis(position + op.axis) }
            guard first != nil, othersAreFree, op.axis != axis, first == .axis(axis) else { return nil }
            return .axis(op.axis < axis ? axis + rank(node, 1) - 1 : axis)
        case is Quantize, is Dequantize: return othersAreFree ? first : nil
        // One scale for all tokens: equal to rounding, as the operator is between batches of any kind.
        case is DynamicQuantize: return first
        default: return nil
        }
    }

    private func addedResidual(_ node: Node, _ first: Place?) throws -> Place? {
        node.inputs.indices.dropFirst().allSatisfy { place(node, $0) == nil || place(node, $0) == first } ? first : nil
    }

    /// Elementwise: the tokens of all operands lie in one dimension of the result, in which the other operands have size 1.
    private func aligned(_ node: Node, _ output: ValueID) -> Place? {
        let rank = graph.type(output).rank
        var result: Place?
        for case let input? in node.inputs {
            let inputRank = graph.type(input).rank
            switch places[input] {
            case nil: continue
            case .merged?:
                guard inputRank == rank, result == nil || result == .merged else { return nil }
                result = .merged
            case .axis(let axis)?:
                let place = Place.axis(axis + rank - inputRank)
                guard result == nil || result == place else { return nil }
                result = place
            }
        }
        return result
    }

    /// The sequence is a dim of its own before and after, with as many elements before it; or batch and sequence merge, or part again.
    private func reshaped(_ node: Node, _ output: ValueID, _ axis: Int) throws -> Place? {
        guard let input = node.inputs.first ?? nil else { return nil }
        func product(_ dims: some Sequence<Dim>) throws -> Dim { try dims.reduce(1) { try $0 * $1 } }
        let (before, after) = (graph.type(input).dims, graph.type(output).dims)
        let isMerged = places[input] == .merged
        let lead = isMerged ? batch : try product(before[..<axis])
        for position in after.indices where after[position] == sequence {
            if try product(after[..<position]) == lead { return .axis(position) }
        }
        guard after.first == merged, isMerged || lead == batch else { return nil }
        return .merged
    }
}
