import GraphIR
import Operators
import Tensors

/// Stored forms of the weights of dense layers and embedding tables; arithmetic is in f32 with all of them.
public enum WeightStorage: String, Sendable, Hashable, CaseIterable {
    case f32, f16, bf16
    /// 8-bit integers, symmetric, with one scale per output channel or embedding row.
    case int8
}

/// Changes how large f32 weights are stored: the constant becomes smaller, and a `cast` or `dequantize` behind it gives back f32,
/// which the runtime does once at load. Embedding tables stay small in memory too, since rows are converted after the gather:
///
///     gather(table, ids)   ->   cast(gather(table_i8, ids)) * expand_dims(gather(scale, ids), -1)
///
/// Runs last: fusions look for plain constants.
public struct WeightStoragePass: Sendable {
    public let storage: WeightStorage
    /// Smaller constants (biases, norms) are left as they are.
    static let minimumCount = 1024

    public init(_ storage: WeightStorage) { self.storage = storage }

    /// - Returns: How many constants changed.
    @discardableResult
    public func run(_ graph: inout Graph) throws -> Int {
        var stored: [Key: Stored] = [:]
        let nodes = graph.nodes
        graph.nodes = []
        for var node in nodes {
            if let (operand, axis) = weight(of: node, in: graph), let id = node.inputs[operand], let tensor = graph.constant(id) {
                let key = Key(id: id, axis: axis)
                let weights = try stored[key] ?? store(tensor, axis: axis, name: graph[id].name, in: &graph)
                stored[key] = weights
                if node.op is Gather {
                    try appendGather(node, weights, to: &graph)
                    continue
                }
                if weights.restored == nil { stored[key]?.restored = try restore(weights, axis: axis, name: graph[id].name, in: &graph) }
                node.inputs[operand] = stored[key]?.restored
            }
            graph.nodes.append(node)
        }
        return stored.count
    }

    private struct Key: Hashable {
        let id: ValueID
        let axis: Int
    }

    private struct Stored {
        let values: ValueID
        /// Of int8 only.
        let scale: ValueID?
        /// The f32 value made from them, once a dense layer needs it.
        var restored: ValueID?
    }

    /// Which operand of a node is a large f32 weight, and along which of its dims the scales run.
    private func weight(of node: Node, in graph: Graph) -> (operand: Int, axis: Int)? {
        func isLarge(_ operand: Int) -> Bool {
            guard operand < node.inputs.count, let id = node.inputs[operand], let tensor = graph.constant(id) else { return false }
            return tensor.dtype == .f32 && tensor.rank == 2 && tensor.count >= Self.minimumCount && storage != .f32
        }
        if let linear = node.op as? Linear, isLarge(1) { return (1, linear.layout == .output_input ? 0 : 1) }
        if let gather = node.op as? Gather, gather.axis == 0, isLarge(0) { return (0, 0) }
        return nil
    }

    private func store(_ tensor: Tensor, axis: Int, name: String, in graph: inout Graph) throws -> Stored {
        switch storage {
        case .f32, .f16, .bf16:
            let dtype: DType = storage == .f16 ? .f16 : storage == .bf16 ? .bf16 : .f32
            return Stored(values: graph.addConstant("\(name).\(dtype.rawValue)", try tensor.converted(to: dtype)), scale: nil)
        case .int8:
            let (values, scale) = try Self.quantize(tensor, axis: axis)
            return Stored(values: graph.addConstant("\(name).i8", values), scale: graph.addConstant("\(name).scale", scale))
        }
    }

    private func restore(_ weights: Stored, axis: Int, name: String, in graph: inout Graph) throws -> ValueID {
        let outputs: [ValueID]
        if let scale = weights.scale {
            outputs = try graph.add(Dequantize(axis: axis), [weights.values, scale], outputNames: ["\(name).f32"])
        } else {
            outputs = try graph.add(Cast(to: .f32), [weights.values], outputNames: ["\(name).f32"])
        }
        return outputs[0]
    }

    /// Gathers stored rows and converts these; the last node defines the output that the gather had.
    private func appendGather(_ node: Node, _ weights: Stored, to graph: inout Graph) throws {
        let ids = node.inputs[1]
        let rows = try graph.add(Gather(axis: 0), [weights.values, ids], name: node.name)[0]
        guard let scale = weights.scale else {
            graph.nodes.append(Node(op: Cast(to: .f32), inputs: [rows], outputs: node.outputs, name: node.name))
            return
        }
        let floats = try graph.add(Cast(to: .f32), [rows], name: node.name)[0]
        let scales = try graph.add(Gather(axis: 0), [scale, ids], name: node.name)[0]
        let columns = try graph.add(ExpandDims(axes: [-1]), [scales], name: node.name)[0]
        graph.nodes.append(Node(op: Binary(.mul), inputs: [floats, columns], outputs: node.outputs, name: node.name))
    }

    /// Symmetric quantisation with one scale per index of `axis` of a matrix: `scale = max |w| / 127`, values rounded to nearest.
    static func quantize(_ tensor: Tensor, axis: Int) throws -> (values: Tensor, scale: Tensor) {
        let rows = tensor.shape[0]
        let columns = tensor.shape[1]
        let weights = tensor.floats()
        var largest = [Float](repeating: 0, count: tensor.shape[axis])
        for row in 0..<rows {
            for column in 0..<columns {
                let channel = axis == 0 ? row : column
                let magnitude = abs(weights[row * columns + column])
                guard magnitude.isFinite else {
                    throw OperatorError(.unsupported, "a weight is \(weights[row * columns + column]); int8 cannot hold it, keep another type")
                }
                largest[channel] = max(largest[channel], magnitude)
            }
        }
        let scales = largest.map { $0 > 0 ? $0 / 127 : 1 }
        var values = [Int8](repeating: 0, count: weights.count)
        for row in 0..<rows {
            for column in 0..<columns {
                let position = row * columns + column
                let scaled = (weights[position] / scales[axis == 0 ? row : column]).rounded(.toNearestOrEven)
                values[position] = Int8(max(-127, min(127, scaled)))
            }
        }
        return (
            try Tensor(elements: values, dtype: .i8, shape: tensor.shape), try Tensor(floats: scales, shape: [scales.count])
        )
    }
}
