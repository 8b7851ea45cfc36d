import GraphIR
import Operators
import Tensors
import TestSupport
import Testing

@testable import Runtime

/// Weights in blocks and in 16-bit floats under f32 activations, as the runtime runs them.
@Suite struct BlockWeightTests {
    @Test(arguments: [DType.q8_0, .q4_0, .q4_1, .q4_k, .f16, .bf16])
    func runAsTheirDequantisedForm(_ dtype: DType) throws {
        var random = SeededRandom(seed: 4)
        let table = try random.tensor(.f32, [40, 256]).converted(to: dtype)
        func run(_ table: Tensor) throws -> Tensor {
            var builder = GraphBuilder(name: "tied")
            let ids = builder.input("ids", TensorType(.i64, [.symbol("batch"), .symbol("sequence")]))
            let weight = builder.constant(table, name: "table")
            var rows = try builder.apply(Gather(axis: 0), weight, ids)
            if builder.type(rows).dtype != .f32 { rows = try builder.apply(Cast(to: .f32), rows) }
            builder.output("logits", try builder.apply(Linear(layout: .output_input), rows, weight))
            let inputs = ["ids": try Tensor(integers: [3, 0, 39, -1, 5, 3], shape: [2, 3])]
            let outputs = try Executor(graph: builder.graph, options: ExecutorOptions(threads: 2)).run(inputs)
            return try #require(outputs["logits"])
        }
        let (actual, expected) = (try run(table), try run(table.converted(to: .f32)))
        // Block kernels round activations to 16 bits: 3e-5 of the largest, against sums of 256 products of numbers up to 2.
        #expect(difference(actual, expected) < (dtype.isBlock ? 1e-3 : 2e-5))
    }
}
