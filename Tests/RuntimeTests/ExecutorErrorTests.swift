import GraphIR
import Operators
import Tensors
import TestSupport
import Testing

@testable import Runtime

@Suite struct ExecutorErrorTests {
    private func error(_ executor: Executor, _ inputs: [String: Tensor], outputs: [String]? = nil) -> RuntimeError? {
        do {
            _ = try executor.run(inputs, outputs: outputs)
            return nil
        } catch {
            return error as? RuntimeError
        }
    }

    private func ids(_ values: [Int64] = [1, 2, 3], _ shape: [Int] = [1, 3], _ dtype: DType = .i64) throws -> Tensor {
        try Tensor(integers: values, dtype: dtype, shape: shape)
    }

    @Test func namesAndTypes() throws {
        let executor = try Executor(graph: EncoderGraph().graph())
        let missing = try #require(error(executor, [:]))
        #expect(missing.reason == .missingInput)
        #expect(missing.description == "input input_ids (i64[batch, sequence]) is missing")
        let unknown = try #require(error(executor, ["input_ids": ids(), "tokens": ids()]))
        #expect(unknown.reason == .unknownName)
        #expect(unknown.description == "there is no input named tokens; the inputs are input_ids, attention_mask")
        let output = try #require(error(executor, ["input_ids": ids()], outputs: ["logits"]))
        #expect(output.reason == .unknownName)
        #expect(output.description.contains("last_hidden_state, embedding"))
        let narrow = try #require(error(executor, ["input_ids": ids([1, 2, 3], [1, 3], .i32)]))
        #expect(narrow.reason == .wrongType)
        #expect(narrow.description == "input input_ids has the type i32, expected i64")
        let flat = try #require(error(executor, ["input_ids": ids([1, 2, 3], [3])]))
        #expect(flat.reason == .wrongShape)
        #expect(flat.description == "input input_ids has the shape [3], expected i64[batch, sequence]")
    }

    @Test func symbolsMustAgree() throws {
        let executor = try Executor(graph: EncoderGraph().graph())
        let clash = try #require(error(executor, ["input_ids": ids(), "attention_mask": ids([1, 1], [1, 2])]))
        #expect(clash.reason == .wrongShape)
        #expect(
            clash.description
                == "input attention_mask: dimension 1 of [1, 2] must be 3 = sequence (sequence is 3 by input input_ids)")
    }

    @Test func expressionsOfSymbolsAreSolvedAndChecked() throws {
        var builder = GraphBuilder(name: "cache")
        let past: Dim = .symbol("past")
        let length: Dim = .symbol("length")
        let total = builder.input("total", TensorType(.f32, [try past + length]))
        _ = builder.input("past", TensorType(.f32, [past]))
        _ = builder.input("twice", TensorType(.f32, [try past * 2 + 1]))
        builder.output("sum", try builder.apply(Reduce(.sum, axes: [0], keepDims: false), total))
        builder.output("length", try builder.apply(Dims([length])))
        let executor = try Executor(graph: builder.graph)
        func vector(_ count: Int) throws -> Tensor { try Tensor(floats: [Float](repeating: 1, count: count), shape: [count]) }
        let good = try executor.run(["total": vector(5), "past": vector(2), "twice": vector(5)])
        #expect(good["length"]?.integers() == [3])
        #expect(error(executor, ["total": try vector(1), "past": try vector(2), "twice": try vector(5)]) != nil)
        #expect(error(executor, ["total": try vector(5), "past": try vector(2), "twice": try vector(4)])?.reason == .wrongShape)
    }

    @Test func tokensBeyondTheVocabulary() throws {
        let executor = try Executor(graph: EncoderGraph().graph())
        let high = try #require(error(executor, ["input_ids": ids([1, 50, 3])]))
        #expect(high.reason == .invalidNode)
        #expect(high.description.contains("index 50 (element 1) is outside the table's 50 rows"))
        #expect(error(executor, ["input_ids": try ids([1, 2, -51])])?.reason == .invalidNode)
        // More tokens than positions.
        #expect(error(executor, ["input_ids": try ids([Int64](repeating: 1, count: 65), [1, 65])])?.reason == .invalidNode)
        #expect(error(executor, ["input_ids": try ids()]) == nil)
    }

    @Test func absurdSizesAreRefused() throws {
        var builder = GraphBuilder(name: "huge")
        let x = builder.input("x", TensorType(.f32, [0, .symbol("n")]))
        let length = try builder.apply(Gather(axis: 0), builder.apply(ShapeOf(), x), builder.scalar(1, .i64))
        let one = try builder.integers([1])
        let sizes = try builder.apply(Concat(axis: 0), builder.apply(Reshape(), length, one), one)
        builder.output("y", try builder.apply(Fill(), sizes, builder.scalar(0, .f32)))
        let executor = try Executor(graph: builder.graph)
        for size in [1 << 40, 1 << 60, Int.max] {
            let tensor = try Tensor(floats: [], shape: [0, size])
            #expect(error(executor, ["x": tensor]) != nil)
        }
        #expect(error(executor, ["x": try Tensor(floats: [], shape: [0, 1 << 40])])?.reason == .outOfMemory)
        let small = try Executor(graph: EncoderGraph().graph(), options: ExecutorOptions(memoryLimit: 20_000))
        #expect(error(small, ["input_ids": try ids([Int64](repeating: 1, count: 60), [1, 60])])?.reason == .outOfMemory)
        #expect(error(small, ["input_ids": try ids()]) == nil)
    }

    @Test func errorsOfNodesNameThem() throws {
        var builder = GraphBuilder(name: "ratio")
        let x = builder.input("x", TensorType(.i64, [.symbol("n")]))
        let y = builder.input("y", TensorType(.i64, [.symbol("n")]))
        builder.output("z", try builder.apply(Binary(.div), x, y, name: "ratio/div", output: "z"))
        let executor = try Executor(graph: builder.graph)
        let zero = try #require(error(executor, ["x": ids([1], [1]), "y": ids([0], [1])]))
        #expect(zero.reason == .invalidNode)
        #expect(zero.description.hasPrefix("node div \"ratio/div\" (%z): "))
        // A run that failed leaves the executor usable.
        #expect(try executor.run(["x": ids([6], [1]), "y": ids([3], [1])])["z"]?.integers() == [2])
    }

    @Test func inputsThatOnlyFitByTheirDataFail() throws {
        var builder = GraphBuilder(name: "add")
        let a = builder.input("a", TensorType(.f32, [.symbol("n")]))
        let b = builder.input("b", TensorType(.f32, [.symbol("m")]))
        builder.output("c", try builder.apply(Binary(.add), a, b))
        let executor = try Executor(graph: builder.graph)
        let inputs = ["a": try Tensor(floats: [1, 2], shape: [2]), "b": try Tensor(floats: [1, 2, 3], shape: [3])]
        #expect(error(executor, inputs)?.reason == .invalidNode)
    }
}
