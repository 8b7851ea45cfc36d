import GraphIR
import Operators
import Optimizer
import Tensors
import TestSupport
import Testing

@testable import Runtime

/// Layers of one input become one; the results stay.
@Suite struct LinearPackingTests {
    private func graph(hasBias: Bool = true, sharesWeight: Bool = false, activation: Activation = .silu, dtype: DType = .f32) throws -> Graph {
        let (heads, width, hidden) = (2, 8, 32)
        var random = SeededRandom(seed: 4)
        var builder = GraphBuilder(name: "layer")
        let ids = builder.input("input_ids", TensorType(.i64, [.symbol("batch"), .symbol("sequence")]))
        let x = try builder.apply(Gather(axis: 0), builder.constant(random.tensor(.f32, [16, hidden]), name: "table"), ids)
        func weight(_ name: String, _ out: Int) throws -> ValueID {
            builder.constant(dtype.isBlock ? try random.tensor(.f32, [out, hidden]).quantized(to: dtype) : try random.tensor(.f32, [out, hidden]), name: "\(name).weight")
        }
        let y = try builder.apply(Unary(.tanh), x)
        func linear(_ name: String, _ out: Int, _ weight: ValueID, _ activation: Activation = .none, of x: ValueID) throws -> ValueID {
            let bias = hasBias ? builder.constant(try random.tensor(.f32, [out]), name: "\(name).bias") : nil
            return try builder.apply(Linear(layout: .output_input, activation: activation), x, weight, bias, name: name)
        }
        func split(_ x: ValueID) throws -> ValueID {
            try builder.apply(Reshape(zeroCopies: true), x, builder.integers([0, 0, heads, width]))
        }
        let q = try weight("layer.q", heads * width)
        let k = sharesWeight ? q : try weight("layer.k", heads * width)
        let attended = try builder.apply(
            CachedAttention(slot: 0, scale: 0.3), split(linear("layer.q", heads * width, q, of: x)), split(linear("layer.k", heads * width, k, of: x)),
            split(linear("layer.v", heads * width, weight("layer.v", heads * width), of: x)))
        builder.output("attended", attended)
        let gate = try linear("mlp.gate", 24, weight("mlp.gate", 24), activation, of: y)
        let up = try linear("mlp.up", 24, weight("mlp.up", 24), of: y)
        builder.output("gated", try builder.apply(Binary(.mul), gate, up, name: "mlp.product"))
        return builder.graph
    }

    private func expectEqual(_ graph: Graph, _ optimised: Graph) throws {
        let ids = ["input_ids": try Tensor(integers: [3, 1, 4, 1, 5, 9, 2, 6, 5, 3, 5, 8], shape: [2, 6])]
        let expected = try Executor(graph: graph).run(ids)
        let actual = try Executor(graph: optimised).run(ids)
        for (name, tensor) in expected { #expect(difference(try #require(actual[name]), tensor) < 1e-5, "\(name)") }
    }

    @Test(arguments: [true, false], [Activation.silu, .gelu_tanh])
    func projectionsAndGatesArePacked(hasBias: Bool, activation: Activation) throws {
        let graph = try graph(hasBias: hasBias, activation: activation)
        var optimised = graph
        try PassPipeline.default.run(&optimised)
        #expect(optimised.nodes.filter { $0.op is Linear }.count == 2)
        #expect(optimised.nodes.contains { ($0.op as? GatedActivation)?.activation == activation })
        try expectEqual(graph, optimised)
    }

    @Test func weightsThatServeTwiceStay() throws {
        let graph = try graph(sharesWeight: true)
        var optimised = graph
        try PassPipeline.default.run(&optimised)
        // q, k and v as they were, and the packed gate.
        #expect(optimised.nodes.filter { $0.op is Linear }.count == 4)
        try expectEqual(graph, optimised)
    }

    @Test func blocksArePackedAsTheyLie() throws {
        let graph = try graph(dtype: .q8_0)
        var optimised = graph
        try PassPipeline.default.run(&optimised)
        let weights = optimised.nodes.compactMap { $0.op is Linear ? $0.inputs[1].flatMap { optimised.constant($0)?.dtype } : nil }
        #expect(weights == [.q8_0, .q8_0])
        try expectEqual(graph, optimised)
    }

    /// Weights in 8 bits with a scale for each output: blocks of whole numbers, and their scales, side by side.
    @Test func scalesArePackedWithTheirBlocks() throws {
        var graph = try graph(dtype: .q8_0)
        for index in graph.nodes.indices where graph.nodes[index].op is Linear {
            let node = graph.nodes[index]
            guard let id = node.inputs[1], let weight = graph.constant(id) else { continue }
            let levels = (0..<weight.count).map { Int16(truncatingIfNeeded: $0 * 37 % 255 - 127) }
            graph.setConstant(id, try Tensor(levels: levels, scales: Array(repeating: 1, count: weight.shape[0]), group: 32, shape: weight.shape))
            let scale = graph.addConstant("scale", try Tensor(floats: (0..<weight.shape[0]).map { Float($0 + 1) * 1e-4 }, shape: [weight.shape[0]]))
            graph.nodes[index].inputs += Array(repeating: nil, count: 4 - node.inputs.count) + [scale]
        }
        try graph.verify()
        var optimised = graph
        try PassPipeline.default.run(&optimised)
        #expect(optimised.nodes.compactMap { $0.op is Linear ? $0.inputs[4].map { optimised.type($0).dims } : nil } == [[48], [48]], "\(optimised.text)")
        try expectEqual(graph, optimised)
    }

    @Test func graphsWithoutACacheStay() throws {
        var builder = GraphBuilder(name: "plain")
        var random = SeededRandom(seed: 1)
        let x = builder.input("x", TensorType(.f32, [.symbol("rows"), 8]))
        for name in ["a", "b"] {
            let weight = builder.constant(try random.tensor(.f32, [4, 8]), name: name)
            builder.output("y\(name)", try builder.apply(Linear(layout: .output_input), x, weight))
        }
        var graph = builder.graph
        try PassPipeline.default.run(&graph)
        #expect(graph.nodes.count == 2)
    }

    @Test(arguments: [Linear.Layout.output_input, .input_output])
    func encodersReadTheirHeadsInThePackedProduct(layout: Linear.Layout) throws {
        let plain = try EncoderGraph().graph(layout: layout)
        var optimised = plain
        let report = try PassPipeline.default.run(&optimised)
        // Of each layer the packed projections, and three more.
        #expect(report.fusionCounts.linear == 8 && report.count(of: "linear_packing") == 6)
        let profiler = Profiler()
        let inputs = try EncoderGraph().inputs(lengths: [9, 4, 13])
        let actual = try Executor(graph: optimised, options: .init(profiler: profiler)).run(inputs, outputs: ["embedding"])
        #expect(!profiler.entries.contains { $0.kernel == "slice" || $0.kernel == "transpose" })
        let expected = try Executor(graph: plain).run(inputs, outputs: ["embedding"])
        #expect(difference(try #require(actual["embedding"]), try #require(expected["embedding"])) < 1e-5)
    }

    @Test func projectionsThatOthersReadStay() throws {
        // The values are an output too: a slice of the product would be a copy.
        var builder = GraphBuilder(name: "attention")
        var random = SeededRandom(seed: 2)
        let x = builder.input("x", TensorType(.f32, [.symbol("batch"), .symbol("sequence"), 8]))
        let parts = try ["q", "k", "v"].map { name -> ValueID in
            let weight = builder.constant(try random.tensor(.f32, [8, 8]), name: name)
            let projected = try builder.apply(Linear(layout: .output_input), x, weight)
            if name == "v" { builder.output("values", projected) }
            let heads = try builder.apply(Reshape(zeroCopies: true), projected, builder.integers([0, 0, 2, 4]))
            return try builder.apply(Transpose(permutation: [0, 2, 1, 3]), heads)
        }
        builder.output("y", try builder.apply(ScaledDotProductAttention(scale: 0.5), parts[0], parts[1], parts[2]))
        var graph = builder.graph
        try PassPipeline.default.run(&graph)
        #expect(graph.nodes.filter { $0.op is Linear }.count == 2)
        let input = ["x": try random.tensor(.f32, [2, 5, 8])]
        let (actual, expected) = (try Executor(graph: graph).run(input), try Executor(graph: builder.graph).run(input))
        for (name, tensor) in expected { #expect(difference(try #require(actual[name]), tensor) < 1e-5) }
    }
}
