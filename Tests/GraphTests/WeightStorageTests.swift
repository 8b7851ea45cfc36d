import GraphIR
import Operators
import TestSupport
import Tensors
import Testing

@testable import Optimizer

/// Weights in full or half precision become smaller ones.
@Suite struct WeightStorageTests {
    private static func floats(_ shape: [Int], seed: UInt64) throws -> Tensor {
        var random = SeededRandom(seed: seed)
        return try Tensor(floats: (0..<shape.reduce(1, *)).map { _ in random.float() }, shape: shape)
    }

    /// `gather -> linear (as PyTorch) -> linear (as ONNX) -> linear with the table`, over weights stored as `dtype`.
    private static func graph(_ dtype: DType, width: Int = 256) throws -> Graph {
        var builder = GraphBuilder(name: "g")
        let ids = builder.input("ids", TensorType(.i64, [.symbol("n")]))
        let table = builder.constant(try floats([40, width], seed: 1).converted(to: dtype), name: "table")
        func weight(_ shape: [Int], _ name: String, seed: UInt64) throws -> ValueID {
            builder.constant(try floats(shape, seed: seed).converted(to: dtype), name: name)
        }
        func f32(_ id: ValueID) throws -> ValueID { dtype == .f32 ? id : try builder.apply(Cast(to: .f32), id) }
        let rows = try f32(try builder.apply(Gather(axis: 0), table, ids))
        let a = try builder.apply(Linear(layout: .output_input), rows, try weight([64, width], "a", seed: 2), try builder.constant(floats([64], seed: 3), name: "bias"))
        let b = try builder.apply(Linear(layout: .input_output, activation: .relu), a, try f32(try weight([64, width], "b", seed: 4)))
        builder.output("logits", try builder.apply(Linear(layout: .output_input), b, try f32(table)))
        return builder.graph
    }

    private static func run(_ graph: Graph) throws -> [Float] {
        var values: [ValueID: Tensor] = [graph.inputs[0]: try Tensor(integers: [3, -1, 0], shape: [3])]
        for node in graph.nodes {
            let inputs = node.inputs.map { id in id.flatMap { values[$0] ?? graph.constant($0) } }
            for (output, tensor) in zip(node.outputs, try node.op.evaluate(Inputs(inputs))) { values[output] = tensor }
        }
        return try #require(values[graph.outputs[0].value]).floats()
    }

    @Test(arguments: WeightStorage.allCases, [DType.f32, .f16, .bf16])
    func keepsAnswersToTheirPrecision(_ storage: WeightStorage, source: DType) throws {
        let original = try Self.graph(source)
        var graph = original
        let report = try WeightStoragePass(storage).run(&graph)
        try graph.verify()
        guard storage.rawValue != source.rawValue else {
            #expect(report.entries.isEmpty)
            return
        }
        let stored = graph.usedConstants.compactMap { graph.constant($0) }.filter { $0.count >= 1024 }
        // The table is one constant still, though two nodes use it.
        let block: DType = [.q4_0, .q4_1, .q4_k].contains(storage) ? .q8_0 : storage.dtype
        #expect(stored.filter { $0.dtype == block && $0.count == 40 * 256 }.count == 1)
        #expect(stored.count == 3 && report.entries.count == 3 && report.skipped.isEmpty)
        // Rows of 64 have no q4_k blocks.
        let others: [DType] = storage == .q4_k ? [.q4_k, .q4_1] : [storage.dtype, storage.dtype]
        #expect(report.entries.map(\.dtype) == [block] + others)
        let limits: [WeightStorage: Double] = [.f16: 0.0005, .bf16: 0.003, .int8: 0.006, .q8_0: 0.006, .q4_0: 0.1, .q4_1: 0.08, .q4_k: 0.08]
        let limit = try #require(limits[storage])
        for entry in report.entries { #expect(entry.relativeError < limit && (entry.relativeError > 0 || storage == .f16), "\(entry)") }
        let (before, after) = (try Self.run(original), try Self.run(graph))
        let noise = zip(before, after).reduce(0.0) { $0 + Double(($1.0 - $1.1) * ($1.0 - $1.1)) }
        let total = before.reduce(0.0) { $0 + Double($1 * $1) }
        // int8 rounds the activations too.
        #expect((noise / total).squareRoot() < limit * (storage == .int8 ? 3 : 2))
        #expect(try Self.run(graph.compacted()) == after)
    }

    @Test func int8LayersShareTheIntegersOfTheirInput() throws {
        var builder = GraphBuilder(name: "g")
        let x = builder.input("x", TensorType(.f32, [.symbol("b"), .symbol("n"), .fixed(64)]))
        let bias = builder.constant(try Self.floats([48], seed: 3), name: "bias")
        let a = try builder.apply(Linear(layout: .input_output, activation: .gelu), x, builder.constant(try Self.floats([64, 48], seed: 1), name: "a"), bias)
        builder.output("y", try builder.apply(Linear(layout: .output_input), x, builder.constant(try Self.floats([48, 64], seed: 2), name: "b"), nil, a))
        var graph = builder.graph
        try WeightStoragePass(.int8).run(&graph)
        try graph.verify()
        let lines = graph.text.split(separator: "\n").map { String($0.drop { $0 == " " }) }.filter { $0.hasPrefix("%") }
        #expect(lines == [
            "%x.u8, %x.scale, %x.zero = quantize_rows(%x) : u8[b, n, 64], f32[b, n, 1], u8[b, n, 1]",
            "%linear = quantized_linear(%x.u8, %x.scale, %x.zero, %a.i8, %a.scale, _, %bias) {activation = gelu} : f32[b, n, 48]",
            "%linear_1 = quantized_linear(%x.u8, %x.scale, %x.zero, %b.i8, %b.scale, _, _, %linear) {activation = none} : f32[b, n, 48]",
        ])
        // Panels are another order of the same bytes.
        let input = try Self.floats([2, 3, 64], seed: 9)
        func run(_ graph: Graph) throws -> [Float] {
            var values = [graph.inputs[0]: input]
            for node in graph.nodes {
                let results = try node.op.evaluate(Inputs(node.inputs.map { id in id.flatMap { values[$0] ?? graph.constant($0) } }))
                for (output, tensor) in zip(node.outputs, results) { values[output] = tensor }
            }
            return try #require(values[graph.outputs[0].value]).floats()
        }
        let before = try run(graph)
        // a, of 3072 bytes, is packed at load in no time.
        #expect(try WeightLayoutPass().run(&graph) == 0)
        for id in graph.usedConstants where graph.constant(id)?.dtype == .i8 {
            let weight = try #require(graph.constant(id))
            graph.setConstant(id, try #require(try QuantizedLinear.pack(weight)))
        }
        try graph.verify()
        #expect(try run(graph) == before)
    }

    @Test func rowsThatAreNoWholeBlocksStay() throws {
        var graph = try Self.graph(.f32, width: 40)
        let report = try WeightStoragePass(.q8_0).run(&graph)
        // Of the three only b, turned, has rows of 64.
        #expect(report.entries.map(\.name) == ["b"])
        #expect(report.skipped == ["table: its rows of 40 are no whole number of q8_0 blocks", "a: its rows of 40 are no whole number of q8_0 blocks"])
    }

    @Test func sixteenBitWeightsNeedNoCast() throws {
        var graph = try Self.graph(.bf16)
        let report = try PassPipeline.default.run(&graph)
        #expect(report.count(of: "linear_cast") == 3)
        #expect(graph.usedConstants.compactMap { graph.constant($0) }.filter { $0.count >= 1024 }.allSatisfy { $0.dtype == .bf16 })
        // Only the looked-up rows are widened.
        #expect(graph.nodes.filter { $0.op is Cast }.count == 1)
        // Doing it again changes nothing.
        let once = graph
        try PassPipeline.default.run(&graph)
        #expect(GraphDiff(once, graph).isEmpty)
    }

    @Test func weightsThatDoNotFitAreNamed() throws {
        var builder = GraphBuilder(name: "g")
        let x = builder.input("x", TensorType(.f32, [.symbol("n"), .fixed(32)]))
        var values = [Float](repeating: 1, count: 32 * 32)
        values[5] = .infinity
        let weight = builder.constant(try Tensor(floats: values, shape: [32, 32]), name: "w")
        builder.output("y", try builder.apply(Linear(layout: .output_input), x, weight))
        for storage in [WeightStorage.q8_0, .int8] {
            var graph = builder.graph
            let error = #expect(throws: OperatorError.self) { try WeightStoragePass(storage).run(&graph) }
            #expect(error?.description.hasPrefix("weight w: element 5 is inf") == true)
        }
    }
}
