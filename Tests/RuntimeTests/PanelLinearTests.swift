import GraphIR
import Operators
import Tensors
import TestSupport
import Testing

@testable import Optimizer
@testable import Runtime

/// Dense layers whose weights lie in panels.
@Suite struct PanelLinearTests {
    private func weight(_ shape: [Int], seed: UInt64) throws -> Tensor {
        var random = SeededRandom(seed: seed)
        return try random.tensor(.f32, shape)
    }

    /// Layers over both layouts, a weight that a gather reads too, and one that fills no whole panel.
    private func graph() throws -> Graph {
        var builder = GraphBuilder(name: "g")
        let ids = builder.input("ids", TensorType(.i64, [.symbol("rows")]))
        let table = builder.constant(try weight([64, 160], seed: 1), name: "table")
        let x = try builder.apply(Gather(axis: 0), table, ids)
        let a = try builder.apply(
            Linear(layout: .output_input, activation: .gelu), x, try builder.constant(weight([96, 160], seed: 2), name: "a"),
            try builder.constant(weight([96], seed: 3), name: "bias"))
        let b = try builder.apply(Linear(layout: .input_output), a, try builder.constant(weight([96, 160], seed: 4), name: "b"), nil, x)
        builder.output("odd", try builder.apply(Linear(layout: .output_input), b, try builder.constant(weight([50, 160], seed: 5), name: "odd")))
        builder.output("tied", try builder.apply(Linear(layout: .output_input), b, table))
        return builder.graph
    }

    @Test func onlyWeightsOfLinearAlone() throws {
        var graph = try graph()
        #expect(try WeightLayoutPass().run(&graph) == 2)
        try graph.verify()
        let shapes = Dictionary(uniqueKeysWithValues: graph.usedConstants.map { (graph[$0].name, graph.constant($0)?.shape ?? []) })
        #expect(shapes["a"] == [6, 160, 16] && shapes["b"] == [10, 96, 16] && shapes["table"] == [64, 160] && shapes["odd"] == [50, 160])
        let layouts = graph.nodes.compactMap { ($0.op as? Linear)?.layout }
        #expect(layouts == [.panels, .panels, .output_input, .output_input])
        #expect(try WeightLayoutPass().run(&graph) == 0)
    }

    /// Two layers with different layouts of one matrix: one file position cannot serve both.
    @Test func aWeightReadBothWaysStays() throws {
        var builder = GraphBuilder(name: "g")
        let x = builder.input("x", TensorType(.f32, [.symbol("rows"), .fixed(96)]))
        let w = builder.constant(try weight([96, 96], seed: 6), name: "w")
        let y = try builder.apply(Linear(layout: .output_input), x, w)
        builder.output("y", try builder.apply(Linear(layout: .input_output), y, w))
        var graph = builder.graph
        #expect(try WeightLayoutPass().run(&graph) == 0)
    }

    @Test(arguments: [0, 1, 2, 3, 5, 16, 97, 130], [1, 2])
    func answersAsTheMatrix(rows: Int, threads: Int) throws {
        let original = try graph()
        var packed = original
        try WeightLayoutPass().run(&packed)
        let ids = try Tensor(integers: (0..<rows).map { Int64($0 * 7 % 64) }, shape: [rows])
        let profiler = Profiler()
        let expected = try Executor(graph: original, options: ExecutorOptions(threads: 1)).run(["ids": ids])
        let actual = try Executor(graph: packed, options: ExecutorOptions(threads: threads, profiler: profiler)).run(["ids": ids])
        for name in ["odd", "tied"] {
            let (a, b) = (try #require(actual[name]), try #require(expected[name]))
            #expect(a.shape == b.shape)
            // Of the largest value: a sum that nearly cancels keeps the rounding of its terms, which each order of adding has its own of.
            let largest = b.doubles().map(abs).max() ?? 0
            let worst = zip(a.doubles(), b.doubles()).map { abs($0 - $1) }.max() ?? 0
            #expect(worst <= 1e-6 * largest)
        }
        if rows > 0 { #expect(profiler.entries.filter { $0.kernel.hasPrefix("packed gemm") }.count >= 2, "\(profiler.entries.map(\.kernel))") }
    }

    /// The reference evaluation knows the layout too.
    @Test func evaluates() throws {
        let x = try weight([3, 32], seed: 7), matrix = try weight([48, 32], seed: 8)
        let expected = try Linear(layout: .output_input).evaluate(Inputs([x, matrix]))[0]
        let panels = try Linear.pack(outputInput: matrix)
        #expect(difference(try Linear(layout: .panels).evaluate(Inputs([x, panels]))[0], expected) <= 1e-6)
        let turned = try Linear.pack(inputOutput: Transpose(permutation: [1, 0]).evaluate(Inputs([matrix]))[0])
        #expect(difference(turned, panels) == 0)
        #expect(throws: OperatorError.self) { try Linear(layout: .panels).inferTypes(Operands([.init(TensorType(.f32, shape: [3, 32])), .init(TensorType(.f32, shape: [3, 32, 8]))])) }
        #expect(throws: OperatorError.self) { try Linear(layout: .panels).inferTypes(Operands([.init(TensorType(.f32, shape: [3, 32])), .init(TensorType(.f16, shape: [3, 32, 16]))])) }
    }
}
