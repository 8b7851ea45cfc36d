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
        // Of the three weights one has no cast to begin with.
        #expect(report.count(of: "linear_cast") == 2)
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

    /// `linear` with a weight as given, stored as int8 under a measurement.
    private static func layer(_ weight: Tensor, _ measurement: LayerMeasurement? = nil) throws -> (graph: Graph, report: WeightStorageReport) {
        var builder = GraphBuilder(name: "g")
        let x = builder.input("x", TensorType(.f32, [.symbol("n"), .fixed(weight.shape[1])]))
        builder.output("y", try builder.apply(Linear(layout: .output_input), x, builder.constant(weight, name: "w")))
        var graph = builder.graph
        let report = try WeightStoragePass(.int8, measurements: measurement.map { ["linear": $0] } ?? [:]).run(&graph)
        try graph.verify()
        return (graph, report)
    }

    private static func lines(_ graph: Graph) -> [String] {
        graph.text.split(separator: "\n").map { String($0.drop { $0 == " " }) }.filter { $0.hasPrefix("%") }
    }

    @Test func measurementsDecideWhatInt8Does() throws {
        let weight = try Self.floats([32, 64], seed: 1)
        let factors = (0..<64).map { Float(1 + $0 % 4) }
        // Smoothing that pays: x is divided by what the weight is multiplied with.
        let smoothed = try Self.layer(weight, LayerMeasurement(error: 0.04, smoothedError: 0.01, smoothing: factors))
        #expect(Self.lines(smoothed.graph) == [
            "%x_1 = mul(%x, %x.factors) : f32[n, 64] \"x\"",
            "%x.u8, %x.scale, %x.zero = quantize_rows(%x_1) : u8[n, 64], f32[n, 1], u8[n, 1]",
            "%linear = quantized_linear(%x.u8, %x.scale, %x.zero, %w.i8, %w.scale) {activation = none} : f32[n, 32]",
        ])
        #expect(smoothed.report.entries.map(\.isSmoothed) == [true] && smoothed.report.entries.map(\.outputError) == [0.01])
        let x = try Self.floats([3, 64], seed: 2)
        func run(_ graph: Graph) throws -> [Float] {
            var values: [ValueID: Tensor] = [graph.inputs[0]: x]
            for node in graph.nodes {
                let results = try node.op.evaluate(Inputs(node.inputs.map { id in id.flatMap { values[$0] ?? graph.constant($0) } }))
                for (output, tensor) in zip(node.outputs, results) { values[output] = tensor }
            }
            return try #require(values[graph.outputs[0].value]).floats()
        }
        let exact = try Linear(layout: .output_input).evaluate(Inputs([x, weight]))[0].floats()
        #expect(zip(try run(smoothed.graph), exact).allSatisfy { abs($0 - $1) < 0.3 })
        // Smoothing that takes away too little, or where nothing is wrong.
        for (error, with) in [(0.04, 0.035), (0.01, 0.001)] {
            let plain = try Self.layer(weight, LayerMeasurement(error: error, smoothedError: with, smoothing: factors))
            #expect(Self.lines(plain.graph).count == 2 && plain.report.entries.map(\.isSmoothed) == [false])
        }
        // Too far off in both forms; an error that is no number counts as that.
        for error in [0.08, .nan] {
            let kept = try Self.layer(weight, LayerMeasurement(error: error, smoothedError: 0.06, smoothing: factors))
            #expect(Self.lines(kept.graph) == ["%linear = linear(%x, %w) {layout = output_input, activation = none} : f32[n, 32]"])
            #expect(kept.report.entries.isEmpty && kept.report.skipped.count == 1)
        }
        #expect(try Self.layer(weight, LayerMeasurement(error: 0.08)).report.skipped == ["w: its products would be 8.0 % off, the limit is 5.0 %"])
    }

    /// A large element in each row leaves the others of the row few steps.
    @Test func weightsWithOutliersStay() throws {
        let (rows, width) = (32, 1536)
        var random = SeededRandom(seed: 7)
        var values = (0..<rows * width).map { _ in random.float() }
        #expect(try Self.layer(Tensor(floats: values, shape: [rows, width])).report.skipped.isEmpty)
        for row in 0..<rows { values[row * width + row] = 40 }
        let report = try Self.layer(Tensor(floats: values, shape: [rows, width])).report
        let reason = try #require(report.skipped.first)
        #expect(report.entries.isEmpty && reason.hasPrefix("w: 8 bits would change it by ") && reason.hasSuffix(" %, the limit is 5.0 %"), "\(reason)")
        // What was measured on the products counts more.
        #expect(try Self.layer(Tensor(floats: values, shape: [rows, width]), LayerMeasurement(error: 0.03)).report.skipped.isEmpty)
    }

    /// Weight-only models: `--quantize int8` multiplies their bytes as they are.
    @Test(arguments: [DType.i8, .u8], [Linear.Layout.output_input, .input_output])
    func dequantizedWeightsAreTakenAsTheyAre(_ dtype: DType, layout: Linear.Layout) throws {
        var builder = GraphBuilder(name: "g")
        let x = builder.input("x", TensorType(.f32, [.symbol("n"), .fixed(64)]))
        let shape = layout == .output_input ? [32, 64] : [64, 32]
        let q = try Tensor(integers: (0..<2048).map { Int64($0 * 37 % 200 - (dtype == .i8 ? 100 : 0)) }, dtype: dtype, shape: shape)
        let scale = try Tensor(floats: (0..<32).map { 0.01 + Float($0) * 0.001 }, shape: [32])
        let zero = try Tensor(integers: Array(repeating: dtype == .i8 ? 0 : 128, count: 32), dtype: dtype, shape: [32])
        let w = try builder.apply(
            Dequantize(axis: layout == .output_input ? 0 : 1), builder.constant(q, name: "q"), builder.constant(scale, name: "s"), builder.constant(zero, name: "z"),
            output: "w")
        builder.output("y", try builder.apply(Linear(layout: layout), x, w))
        var graph = builder.graph
        #expect(WeightStoragePass.layers(of: graph).count == 1)
        let report = try WeightStoragePass(.int8).run(&graph)
        try graph.verify()
        #expect(Self.lines(graph) == [
            "%x.u8, %x.scale, %x.zero = quantize_rows(%x) : u8[n, 64], f32[n, 1], u8[n, 1]",
            "%linear = quantized_linear(%x.u8, %x.scale, %x.zero, %w.i8, %w.scale) {activation = none} : f32[n, 32]",
        ])
        #expect(report.entries.map(\.relativeError) == [0] && report.skipped.isEmpty)
    }

    @Test func scalesAlongTheInputsHaveNoIntegerForm() throws {
        var builder = GraphBuilder(name: "g")
        let x = builder.input("x", TensorType(.f32, [.symbol("n"), .fixed(64)]))
        let q = builder.constant(try Tensor(integers: (0..<2048).map { Int64($0 % 100) }, dtype: .i8, shape: [32, 64]), name: "q")
        let scale = builder.constant(try Tensor(floats: (0..<64).map { Float(1 + $0) }, shape: [64]), name: "s")
        builder.output("y", try builder.apply(Linear(layout: .output_input), x, builder.apply(Dequantize(axis: 1), q, scale, output: "w")))
        var graph = builder.graph
        let report = try WeightStoragePass(.int8).run(&graph)
        #expect(GraphDiff(builder.graph, graph).isEmpty)
        #expect(report.skipped == ["w: the scale runs along the inputs of the weight"])
    }
}
