import GraphIR
import Operators
import Tensors

/// Lays the f32 and int8 weights of dense layers out as the matrix products read them, so that a run uses them where the file is mapped and packs
/// nothing:
///
///     linear<output_input>(x, W [out, in])           ->   linear<panels>(x, W [out / 16, in, 16])
///     quantized_linear(x, .., W [out, in], ..)       ->   quantized_linear(x, .., W [out / 16, in / 4, 16, 4], ..)
///
/// Runs last, behind `WeightStoragePass`: everything else looks for matrices. A weight that others read too, as a tied embedding table, stays
/// as it is, and so does one whose outputs do not fill whole panels.
public struct WeightLayoutPass: Sendable {
    /// Smaller weights are packed at load in no time.
    static let minimumCount = 4096

    public init() {}

    /// - Returns: How many weights it changed.
    @discardableResult
    public func run(_ graph: inout Graph) throws -> Int {
        var users: [ValueID: Linear.Layout] = [:]
        var integers: Set<ValueID> = []
        var refused = Set(graph.outputs.map(\.value))
        for node in graph.nodes {
            for (place, input) in node.inputs.enumerated() {
                guard let input, graph.constant(input) != nil else { continue }
                if place == 1, let linear = node.op as? Linear, users[input] ?? linear.layout == linear.layout {
                    users[input] = linear.layout
                } else if place == 3, node.op is QuantizedLinear {
                    integers.insert(input)
                } else {
                    refused.insert(input)
                }
            }
        }
        var packed: Set<ValueID> = []
        for id in graph.usedConstants {
            if integers.contains(id), !refused.contains(id), let weight = graph.constant(id), weight.count >= Self.minimumCount,
                let panels = try QuantizedLinear.pack(weight)
            {
                graph.setConstant(id, panels)
                packed.insert(id)
                continue
            }
            guard let layout = users[id], layout != .panels, !refused.contains(id), let weight = graph.constant(id), weight.dtype == .f32, weight.rank == 2,
                weight.count >= Self.minimumCount, weight.shape[layout == .output_input ? 0 : 1] % Linear.Layout.panelWidth == 0
            else { continue }
            graph.setConstant(id, try layout == .output_input ? Linear.pack(outputInput: weight) : Linear.pack(inputOutput: weight))
            packed.insert(id)
        }
        for index in graph.nodes.indices {
            guard let linear = graph.nodes[index].op as? Linear, let id = graph.nodes[index].inputs[1], packed.contains(id) else { continue }
            graph.nodes[index].op = Linear(layout: .panels, activation: linear.activation)
        }
        return packed.count
    }

    /// Makes matrices of the panels again, so that a graph can be optimised and stored anew.
    public static func undo(_ graph: inout Graph) throws {
        for index in graph.nodes.indices {
            let node = graph.nodes[index]
            if let linear = node.op as? Linear, linear.layout == .panels {
                graph.nodes[index].op = Linear(layout: .input_output, activation: linear.activation)
                if let id = node.inputs[1], let weight = graph.constant(id), weight.rank == 3 {
                    graph.setConstant(id, try Linear.unpack(panels: weight))
                }
            } else if node.op is QuantizedLinear, node.inputs.count > 3, let id = node.inputs[3], let weight = graph.constant(id), weight.rank == 4 {
                graph.setConstant(id, try QuantizedLinear.unpack(panels: weight))
            }
        }
    }
}
