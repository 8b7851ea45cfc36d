import GraphIR
import Operators
import Optimizer
import Runtime
import Tensors

/// The product of one dense layer as a graph of its own: no bias, activation or residual.
struct LayerProduct {
    private let graph: Graph
    /// The weight as `[out, in]` or `[in, out]`; nil where it is in 8 bits already.
    private let weight: Tensor?
    private let layout: Linear.Layout
    let outputs: Int

    init(_ layer: Node, in original: Graph) throws {
        guard let linear = layer.op as? Linear, let x = layer.inputs[0], let source = layer.inputs[1], let width = original.type(x).dims.last,
            let outputs = original.type(layer.outputs[0]).dims.last?.fixedValue
        else { throw TaskError(.unsuitableModel, "the layer '\(layer.name)' is no dense layer") }
        var graph = Graph(name: "layer")
        let input = graph.addInput("x", TensorType(.f32, [.symbol("rows"), width]))
        var constants: [Tensor] = []
        func constant(_ id: ValueID) throws -> ValueID {
            guard let tensor = original.constant(id) else { throw TaskError(.unsuitableModel, "the weight of '\(layer.name)' is no constant") }
            constants.append(tensor)
            return graph.addConstant(original[id].name, tensor)
        }
        let value: ValueID
        // A weight in 16 bits is a constant behind a cast, one in 8 bits stands behind a dequantize.
        if let node = original.nodes.first(where: { $0.outputs.contains(source) }) {
            value = try graph.add(node.op, node.inputs.map { try $0.map(constant) })[0]
            weight = node.op is Dequantize ? nil : constants.first
        } else {
            value = try constant(source)
            weight = layer.inputs.count > 4 ? nil : constants.first
        }
        let scale = layer.inputs.count > 4 ? try layer.inputs[4].map(constant) : nil
        let result = try graph.add(Linear(layout: linear.layout), scale == nil ? [input, value] : [input, value, nil, nil, scale])[0]
        graph.outputs = [Output(name: "y", value: result)]
        self.graph = graph
        self.outputs = outputs
        layout = linear.layout
    }

    /// The products of rows, in f32, or in 8 bits in the form that `choice` names.
    func run(_ x: Tensor, _ choice: LayerMeasurement?) throws -> [Float] {
        var graph = graph
        if let choice {
            try WeightStoragePass(.int8, measurements: [graph[graph.outputs[0].value].name: choice]).run(&graph)
        }
        return try Executor(graph: graph).run(["x": x])["y"]?.floats() ?? []
    }

    /// SmoothQuant's factors: the root of an input's largest value over the largest of its weights.
    ///
    /// - Returns: nil where the weight cannot take them, being in 8 bits already.
    func smoothing(inputs: [Float]) throws -> [Float]? {
        guard let weight, inputs.allSatisfy(\.isFinite) else { return nil }
        var largest = [Float](repeating: 0, count: inputs.count)
        let (rows, columns) = (weight.shape[0], weight.shape[1])
        let values = weight.floats()
        for row in 0..<rows {
            for column in 0..<columns {
                let input = layout == .output_input ? column : row
                largest[input] = max(largest[input], abs(values[row * columns + column]))
            }
        }
        return zip(inputs, largest).map { x, w in
            let factor = (x / w).squareRoot()
            return x > 0 && w > 0 && factor.isFinite ? max(factor, 1e-5) : 1
        }
    }
}
