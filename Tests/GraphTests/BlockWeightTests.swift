import Foundation
import Operators
import Optimizer
import TestSupport
import Tensors
import Testing

@testable import GraphFile
@testable import GraphIR

/// Weights that stay in the blocks they are quantised in.
@Suite struct BlockWeightTests {
    private static let stored: [DType] = [.q8_0, .q4_0, .q4_1, .q4_k, .f16, .bf16]

    private static func message(_ body: () throws -> Void) -> String {
        do {
            try body()
            return "no error"
        } catch {
            return "\(error)"
        }
    }

    private static func floats(_ shape: [Int], seed: UInt64) throws -> Tensor {
        var random = SeededRandom(seed: seed)
        return try Tensor(floats: (0..<shape.reduce(1, *)).map { _ in random.float() }, shape: shape)
    }

    /// A token embedding and a projection back, from one table.
    private static func graph(_ dtype: DType) throws -> Graph {
        var builder = GraphBuilder(name: "tied")
        let ids = builder.input("ids", TensorType(.i64, [.symbol("batch"), .symbol("sequence")]))
        let table = builder.constant(try floats([24, 256], seed: 1).converted(to: dtype), name: "table")
        var rows = try builder.apply(Gather(axis: 0), table, ids)
        if !dtype.isBlock { rows = try builder.apply(Cast(to: .f32), rows) }
        let bias = builder.constant(try floats([24], seed: 2), name: "bias")
        let logits = try builder.apply(Linear(layout: .output_input), rows, table, bias)
        builder.output("logits", try builder.apply(Unary(.gelu), logits))
        return builder.graph
    }

    @Test(arguments: stored)
    func linearAndGatherTakeThem(_ dtype: DType) throws {
        let table = try Self.floats([24, 256], seed: 1).converted(to: dtype)
        let wide = try table.converted(to: .f32)
        let x = try Self.floats([3, 256], seed: 3)
        for activation in [Activation.none, .relu] {
            let op = Linear(layout: .output_input, activation: activation)
            let actual = try op.evaluate(Inputs([x, table]))[0]
            let expected = try op.evaluate(Inputs([x, wide]))[0]
            #expect(actual.dtype == .f32 && Tensor.identical(actual, expected))
        }
        let ids = try Tensor(integers: [0, -1, 7, 7], shape: [2, 2])
        let rows = try Gather(axis: 0).evaluate(Inputs([table, ids]))[0]
        #expect(rows.dtype == (dtype.isBlock ? .f32 : dtype))
        #expect(Tensor.identical(try rows.converted(to: .f32), try Gather(axis: 0).evaluate(Inputs([wide, ids]))[0]))
        #expect(Tensor.identical(try Cast(to: .f32).evaluate(Inputs([table]))[0], wide))
    }

    @Test func whatElseTakesThemIsRefused() throws {
        let blocks = try Self.floats([4, 32], seed: 1).quantized(to: .q8_0)
        let half = try blocks.converted(to: .f16)
        let count = try Tensor(integers: [128], shape: [1])
        let x = try Self.floats([1, 32], seed: 2)
        func refusal(_ op: any GraphIR.Operator, _ operands: [Tensor?]) -> String { Self.message { _ = try op.evaluate(Inputs(operands)) } }
        let rule = "operand 0 is q8_0; only the weight of linear, the table of gather and cast take blocks"
        #expect(refusal(Unary(.neg), [blocks]) == rule)
        #expect(refusal(Transpose(permutation: [1, 0]), [blocks]) == rule)
        #expect(refusal(Reshape(), [blocks, count]) == rule)
        #expect(refusal(Concat(axis: 0), [blocks, blocks]) == rule)
        #expect(refusal(ShapeOf(), [blocks]) == rule)
        #expect(refusal(MatMul(transposeB: true), [x, blocks]) == rule.replacingOccurrences(of: "operand 0", with: "operand 1"))
        #expect(refusal(Linear(layout: .input_output), [x, blocks]).contains("needs the layout output_input"))
        #expect(refusal(Linear(layout: .output_input), [blocks, blocks]) == rule)
        let (short, long) = (try x.converted(to: .f16), try x.converted(to: .f64))
        #expect(refusal(Linear(layout: .output_input), [short, blocks]) == "the weight of linear is q8_0, x is f16")
        #expect(refusal(Linear(layout: .output_input), [long, half]) == "the weight of linear is f16, x is f64")
        #expect(refusal(Gather(axis: 1), [blocks, count]).contains("only whole rows of blocks"))
        #expect(refusal(Cast(to: .q4_0), [x]) == "cast to q4_0: only constants are stored in blocks")
    }

    @Test(arguments: stored)
    func passThroughFilesUnchanged(_ dtype: DType) throws {
        let graph = try Self.graph(dtype)
        try graph.verify()
        try Fixtures.withTemporaryFolder { folder in
            let url = folder.appendingPathComponent("m.graph")
            try GraphFile.write(
                graph: graph, description: ModelDescription(task: .none),
                provenance: Provenance(sources: [], format: "gguf", producer: nil, opset: nil, converterVersion: "0"), to: url)
            let read = try GraphFile(contentsOf: url).graph
            #expect(read.isIdentical(to: graph) && read.text == graph.text)
            #expect(read.text.contains("constant %table : \(dtype.rawValue)[24, 256] = @"))
            // Any reader of safetensors can list it.
            let file = try SafetensorsFile(contentsOf: url)
            let entry = try #require(file.entry(named: "table"))
            #expect(entry.dtype == (dtype.isBlock ? .u8 : dtype) && entry.bytes.lowerBound % 64 == 0)
            #expect(graph.summary.byteCount == 24 * 256 / dtype.blockElements * dtype.blockBytes + 24 * 4)
            #expect(graph.summary.parameterCount == 24 * 257)
        }
    }

    @Test(arguments: stored.filter(\.isBlock))
    func optimisationKeepsThem(_ dtype: DType) throws {
        var graph = try Self.graph(dtype)
        let report = try PassPipeline.default.run(&graph)
        #expect(report.operatorsAfter.map(\.name).sorted() == ["gather", "linear"])
        #expect(graph.usedConstants.compactMap { graph.constant($0)?.dtype } == [dtype, .f32])
        // Small enough to fold, were it made of elements.
        var builder = GraphBuilder(name: "small")
        let blocks = builder.constant(try Self.floats([1, 256], seed: 1).quantized(to: dtype), name: "w")
        builder.output("y", try builder.apply(Cast(to: .f32), blocks))
        var small = builder.graph
        try PassPipeline.default.run(&small)
        #expect(small.nodes.count == 1 && small.constant(small.usedConstants[0])?.dtype == dtype)
    }

    @Test func hostileTextIsRefused() throws {
        func parse(_ body: String, _ tensor: Tensor) -> String {
            Self.message { _ = try Graph(parsing: "graph \"g\" {\n\(body)\n}\n") { _ in tensor } }
        }
        let blocks = try Self.floats([4, 32], seed: 1).quantized(to: .q8_0)
        let bytes = try blocks.blocksAsBytes()
        #expect(parse("input %x : q8_0[n, 32]\noutput \"y\" = %x", bytes).contains("is an input of the type q8_0, only constants"))
        #expect(parse("constant %w : q8_0[4, 32] = @\noutput \"y\" = %w", bytes).contains("only constants are stored in blocks"))
        #expect(parse("constant %w : q8_0[4, 64] = @", bytes).contains("declared as q8_0[4, 64]"))
        #expect(parse("constant %w : q4_k[4, 256] = @", bytes).contains("holds no blocks of type q4_k"))
        let narrow = try bytes.reshaped([8, 17])
        #expect(parse("constant %w : q8_0[4, 32] = @", narrow).contains("holds no blocks of type q8_0"))
        #expect(parse("constant %w : q8_0[1] = [1]", bytes).contains("whose blocks have no text"))
        #expect(parse("input %x : f32[n]\n%y = cast(%x) {to = q8_0} : q8_0[n]\noutput \"y\" = %y", bytes).contains("cast to q8_0"))
    }
}
