import GraphIR
import Tensors

/// The inputs and outputs of a decoder as exporters name them: `input_ids`, `attention_mask` (past and new tokens), `position_ids`, and a past
/// key and value for each attention.
public struct CausalInterface: Sendable {
    public let ids: ValueID
    public let mask: ValueID?
    public let positions: ValueID?
    /// Rank 4: batch, heads, past, width.
    public let pasts: [ValueID]

    static let batch = Dim.symbol("batch")
    static let sequence = Dim.symbol("sequence")
    static let past = Dim.symbol("past")

    /// nil where the graph has inputs of another kind, or no output of rank 3 that could be logits.
    public init?(_ graph: Graph) {
        var ids: ValueID?
        var mask: ValueID?
        var positions: ValueID?
        var pasts: [ValueID] = []
        for id in graph.inputs {
            let value = graph[id]
            let isIndex = value.type.dtype == .i64 || value.type.dtype == .i32
            switch (value.name, value.type.rank) {
            case ("input_ids", 2) where isIndex: ids = id
            case ("attention_mask", 2) where isIndex: mask = id
            case ("position_ids", 2) where isIndex: positions = id
            case (let name, 4) where value.type.dtype.isFloat && (name.contains("past") || name.contains("cache")): pasts.append(id)
            default: return nil
            }
        }
        guard let ids, graph.outputs.contains(where: { graph.type($0.value).rank == 3 && graph.type($0.value).dtype.isFloat }) else { return nil }
        // A fixed length cannot grow.
        guard graph.type(ids).dims[1].fixedValue == nil else { return nil }
        self.ids = ids
        self.mask = mask
        self.positions = positions
        self.pasts = pasts
    }

    /// The types that make sense of each other, whatever names of dims the exporter chose.
    func canonicalTypes(in graph: Graph) throws -> [ValueID: TensorType] {
        let batch = graph.type(ids).dims[0].fixedValue.map(Dim.fixed) ?? Self.batch
        func type(_ id: ValueID, _ dims: [Dim]) -> TensorType { TensorType(graph.type(id).dtype, dims) }
        var types = [ids: type(ids, [batch, Self.sequence])]
        if let mask { types[mask] = type(mask, [batch, pasts.isEmpty ? Self.sequence : try Self.past + Self.sequence]) }
        if let positions { types[positions] = type(positions, [batch, Self.sequence]) }
        for past in pasts {
            let dims = graph.type(past).dims
            types[past] = type(past, [batch, dims[1], Self.past, dims[3]])
        }
        return types
    }

    /// The other inputs for a first run, without a past: positions count real tokens, as every step of a generation has them.
    ///
    /// - Parameter mask: i64 `[batch, sequence]`, 1 for a token, 0 for padding.
    public func inputsWithoutPast(ids: Tensor, mask: Tensor, in graph: Graph) throws -> [String: Tensor] {
        var inputs = [graph[self.ids].name: try ids.converted(to: graph.type(self.ids).dtype)]
        if let id = self.mask { inputs[graph[id].name] = try mask.converted(to: graph.type(id).dtype) }
        if let id = positions {
            let positions = Probe.positions(mask: mask.integers(), rows: mask.shape[0])
            inputs[graph[id].name] = try Tensor(integers: positions, dtype: graph.type(id).dtype, shape: mask.shape)
        }
        for id in pasts {
            let type = graph.type(id)
            guard let heads = type.dims[1].fixedValue, let width = type.dims[3].fixedValue else {
                throw TensorError("the past %\(graph[id].name) is \(type), of heads or a width that are not known")
            }
            inputs[graph[id].name] = try Tensor(floats: [], dtype: type.dtype, shape: [mask.shape[0], heads, 0, width])
        }
        return inputs
    }
}
