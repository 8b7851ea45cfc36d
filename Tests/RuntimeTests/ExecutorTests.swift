import GraphIR
import Operators
import Tensors
import TestSupport
import Testing

@testable import Runtime

@Suite struct ExecutorTests {
    private let encoder = EncoderGraph()

    @Test(arguments: [[1], [5], [3, 9, 1, 9], [64]])
    func encoderEqualsItsReference(lengths: [Int]) throws {
        let graph = try encoder.graph()
        let inputs = try encoder.inputs(lengths: lengths)
        let expected = try interpret(graph, inputs)
        let actual = try Executor(graph: graph).run(inputs)
        for name in ["last_hidden_state", "embedding"] {
            #expect(difference(try #require(actual[name]), try #require(expected[name])) < 1e-4)
        }
    }

    @Test func paddingChangesNothing() throws {
        let executor = try Executor(graph: encoder.graph())
        let lengths = [3, 64, 1, 17, 30]
        let batch = try encoder.inputs(lengths: lengths)
        let together = try #require(try executor.run(batch)["embedding"]).floats()
        let ids = try #require(batch["input_ids"]).integers()
        for (row, length) in lengths.enumerated() {
            let own = try Tensor(integers: Array(ids[row * 64..<row * 64 + length]), shape: [1, length])
            let alone = try #require(try executor.run(["input_ids": own])["embedding"]).floats()
            for (a, b) in zip(alone, together[row * encoder.hidden..<(row + 1) * encoder.hidden]) { #expect(abs(a - b) < 1e-5) }
        }
    }

    @Test func threadsDoNotChangeResults() throws {
        let graph = try EncoderGraph(hidden: 96, heads: 4, intermediate: 400).graph()
        let inputs = try encoder.inputs(lengths: [40, 64, 2])
        let one = try Executor(graph: graph, options: ExecutorOptions(threads: 1)).run(inputs)
        for threads in [2, 3, 7] {
            let many = try Executor(graph: graph, options: ExecutorOptions(threads: threads)).run(inputs)
            for (name, tensor) in one { #expect(Tensor.identical(try #require(many[name]), tensor), "\(name) on \(threads) threads") }
        }
    }

    @Test func runsOnManyThreadsAtOnce() async throws {
        let executor = try Executor(graph: encoder.graph())
        let encoder = encoder
        let lengths = [[5], [9, 3], [64], [1], [30, 30], [7], [2, 2, 2], [12]]
        let expected = try lengths.map { try executor.run(encoder.inputs(lengths: $0)) }
        try await withThrowingTaskGroup(of: Bool.self) { group in
            for task in 0..<8 {
                group.addTask {
                    for round in 0..<10 {
                        let index = (task + round) % lengths.count
                        let outputs = try executor.run(encoder.inputs(lengths: lengths[index]))
                        for (name, tensor) in expected[index] {
                            guard let output = outputs[name], Tensor.identical(output, tensor) else { return false }
                        }
                    }
                    return true
                }
            }
            for try await isSame in group { #expect(isSame) }
        }
    }

    @Test func outputsOutliveLaterRuns() throws {
        let executor = try Executor(graph: encoder.graph())
        let inputs = try encoder.inputs(lengths: [6])
        let first = try #require(try executor.run(inputs)["last_hidden_state"])
        let copy = first.floats()
        _ = try executor.run(encoder.inputs(lengths: [6], seed: 99))
        #expect(first.floats() == copy)
    }

    @Test func plansAreKeptPerShapeAndBounded() throws {
        let executor = try Executor(graph: encoder.graph())
        for _ in 0..<3 { _ = try executor.run(encoder.inputs(lengths: [5])) }
        #expect(executor.cachedPlanCount == 1)
        _ = try executor.run(encoder.inputs(lengths: [5]), outputs: ["embedding"])
        _ = try executor.run(encoder.inputs(lengths: [5, 5]))
        #expect(executor.cachedPlanCount == 3)
        for length in 1...40 { _ = try executor.run(encoder.inputs(lengths: [length])) }
        #expect(executor.cachedPlanCount == PlanCache.capacity)
    }

    @Test func onlyWantedOutputsAreComputed() throws {
        let profiler = Profiler()
        let executor = try Executor(graph: encoder.graph(), options: ExecutorOptions(profiler: profiler))
        let outputs = try executor.run(encoder.inputs(lengths: [5]), outputs: ["last_hidden_state"])
        #expect(Array(outputs.keys) == ["last_hidden_state"])
        #expect(!profiler.entries.contains { $0.op == "reduce_sum" })
        #expect(profiler.entries.contains { $0.op == "linear" && $0.runs == 1 && $0.seconds >= 0 })
    }

    @Test func everyNodeOfTheEncoderHasAFastKernel() throws {
        let profiler = Profiler()
        let executor = try Executor(graph: encoder.graph(), options: ExecutorOptions(profiler: profiler))
        _ = try executor.run(encoder.inputs(lengths: [5, 3]))
        #expect(profiler.entries.filter { $0.kernel == "reference" || $0.kernel == "dynamic" } == [])
        // The attention reads and writes through the transposes around it.
        #expect(!profiler.entries.contains { $0.op == "transpose" })
    }

    @Test func defaultsStandIn() throws {
        let executor = try Executor(graph: encoder.graph())
        var inputs = try encoder.inputs(lengths: [7, 7])
        let given = try executor.run(inputs)
        inputs["attention_mask"] = nil
        let left = try executor.run(inputs)
        for (name, tensor) in given { #expect(difference(try #require(left[name]), tensor) < 1e-6) }
        #expect(executor.inputs.map(\.hasDefault) == [false, true])
        #expect(executor.inputs.map(\.type.description) == ["i64[batch, sequence]", "i64[batch, sequence]"])
    }

    @Test func emptyBatchAndEmptySequence() throws {
        let executor = try Executor(graph: encoder.graph())
        let none = try Tensor(integers: [], shape: [0, 4])
        #expect(try executor.run(["input_ids": none])["embedding"]?.shape == [0, 32])
        let short = try Tensor(integers: [], shape: [2, 0])
        #expect(try executor.run(["input_ids": short])["last_hidden_state"]?.shape == [2, 0, 32])
    }

    @Test func inputsAndConstantsMayBeOutputs() throws {
        var builder = GraphBuilder(name: "pass")
        let x = builder.input("x", TensorType(.f32, [.symbol("n"), 2]))
        let flat = try builder.apply(Reshape(), x, builder.integers([-1]))
        builder.output("same", x)
        builder.output("flat", flat)
        builder.output("constant", try builder.integers([1, 2, 3]))
        let y = try builder.apply(Unary(.neg), x)
        builder.output("y", y)
        builder.output("again", y)
        builder.output("reshaped", try builder.apply(Reshape(), y, builder.integers([2, -1])))
        builder.output("abs", try builder.apply(Unary(.abs), y))
        let outputs = try Executor(graph: builder.graph).run(["x": Tensor(floats: [1, 2, 3, 4], shape: [2, 2])])
        #expect(outputs["same"]?.shape == [2, 2])
        #expect(outputs["flat"]?.floats() == [1, 2, 3, 4])
        #expect(outputs["flat"]?.shape == [4])
        #expect(outputs["constant"]?.integers() == [1, 2, 3])
        #expect(outputs["y"]?.floats() == [-1, -2, -3, -4])
        #expect(outputs["again"]?.floats() == [-1, -2, -3, -4])
        #expect(outputs["reshaped"]?.floats() == [-1, -2, -3, -4])
        #expect(outputs["abs"]?.floats() == [1, 2, 3, 4])
    }

    /// A chain in which every step may take over memory, with values that are used again later.
    @Test func inPlaceStepsKeepWhatIsStillNeeded() throws {
        var random = SeededRandom(seed: 21)
        for seed in 0..<20 {
            var builder = GraphBuilder(name: "chain")
            let type = TensorType(.f32, [.symbol("n"), 6])
            var values = [builder.input("x", type), builder.input("y", type)]
            var choice = SeededRandom(seed: UInt64(seed))
            for step in 0..<25 {
                let a = choice.element(of: Array(values.suffix(5)))
                let b = choice.element(of: Array(values.suffix(5)))
                switch choice.int(0..<6) {
                case 0: values.append(try builder.apply(Unary(.tanh), a))
                case 1: values.append(try builder.apply(Binary(.add), a, b))
                case 2: values.append(try builder.apply(Softmax(axis: -1), a))
                case 3: values.append(try builder.apply(LayerNorm(epsilon: 1e-2), a, nil, nil, b))
                case 4:
                    let turned = try builder.apply(Transpose(permutation: [1, 0]), a)
                    let back = try builder.apply(Transpose(permutation: [1, 0]), builder.apply(Unary(.sigmoid), turned))
                    values.append(try builder.apply(Binary(.sub), back, b))
                default: values.append(try builder.apply(Select(), builder.apply(Compare(.less), a, b), a, b))
                }
                if step % 9 == 0, let last = values.last { builder.output("out\(step)", last) }
            }
            if let last = values.last { builder.output("last", last) }
            let inputs = ["x": try random.tensor(.f32, [5, 6]), "y": try random.tensor(.f32, [5, 6])]
            let expected = try interpret(builder.graph, inputs)
            for (name, output) in try Executor(graph: builder.graph).run(inputs) {
                #expect(difference(output, try #require(expected[name])) < 1e-4, "\(name) of chain \(seed)")
            }
        }
    }

    /// Two attentions in a row, the second reading what the first wrote transposed.
    @Test func attentionsThatShareATransposeStayApart() throws {
        var builder = GraphBuilder(name: "two")
        let x = builder.input("x", TensorType(.f32, [2, 3, 4, 5]))
        func swap(_ value: ValueID) throws -> ValueID { try builder.apply(Transpose(permutation: [0, 2, 1, 3]), value) }
        let first = try builder.apply(ScaledDotProductAttention(scale: 0.5), swap(x), swap(x), swap(x))
        let turned = try swap(first)
        let second = try builder.apply(ScaledDotProductAttention(scale: 0.5), turned, turned, turned)
        builder.output("second", try swap(second))
        builder.output("first", first)
        var random = SeededRandom(seed: 5)
        let inputs = ["x": try random.tensor(.f32, [2, 3, 4, 5])]
        for outputs in [["second"], ["second", "first"]] {
            let expected = try interpret(builder.graph, inputs)
            for (name, output) in try Executor(graph: builder.graph).run(inputs, outputs: outputs) {
                #expect(difference(output, try #require(expected[name])) < 1e-5)
            }
        }
    }

    @Test func sizesThatOnlyTheDataTell() throws {
        var builder = GraphBuilder(name: "dynamic")
        let x = builder.input("x", TensorType(.f32, [.symbol("n")]))
        let shape = builder.input("shape", TensorType(.i64, [2]))
        let doubled = try builder.apply(Binary(.add), x, x)
        let table = try builder.apply(Reshape(), doubled, shape)
        let turned = try builder.apply(Transpose(permutation: [1, 0]), table)
        builder.output("turned", turned)
        builder.output("sum", try builder.apply(Reduce(.sum, axes: [0], keepDims: false), turned))
        let rows = builder.type(table).dims[0]
        builder.output("rows", try builder.apply(Dims([rows])))
        builder.output("doubled", doubled)
        let executor = try Executor(graph: builder.graph)
        let inputs = [
            "x": try Tensor(floats: [1, 2, 3, 4, 5, 6], shape: [6]), "shape": try Tensor(integers: [2, 3], shape: [2]),
        ]
        let outputs = try executor.run(inputs)
        #expect(outputs["turned"]?.shape == [3, 2])
        #expect(outputs["turned"]?.floats() == [2, 8, 4, 10, 6, 12])
        #expect(outputs["sum"]?.floats() == [12, 30])
        #expect(outputs["rows"]?.integers() == [2])
        #expect(outputs["doubled"]?.floats() == [2, 4, 6, 8, 10, 12])
        _ = try executor.run(["x": Tensor(floats: [9], shape: [1]), "shape": Tensor(integers: [1, 1], shape: [2])])
        #expect(outputs["turned"]?.floats() == [2, 8, 4, 10, 6, 12])
        let wrong = ["x": try Tensor(floats: [1, 2, 3], shape: [3]), "shape": try Tensor(integers: [2, 3], shape: [2])]
        #expect(throws: RuntimeError.self) { try executor.run(wrong) }
    }

    @Test func constantsAreEvaluatedOnce() throws {
        var builder = GraphBuilder(name: "weights")
        let x = builder.input("x", TensorType(.f32, [.symbol("n"), 3]))
        let stored = builder.constant(try Tensor(integers: [1, -2, 3, 4, 5, 6], dtype: .i8, shape: [3, 2]), name: "w")
        let scale = builder.constant(try Tensor(floats: [0.5, 2], shape: [2]), name: "scale")
        let weight = try builder.apply(Dequantize(axis: 1), stored, scale)
        builder.output("y", try builder.apply(MatMul(), x, weight))
        let profiler = Profiler()
        let executor = try Executor(graph: builder.graph, options: ExecutorOptions(profiler: profiler))
        let y = try executor.run(["x": Tensor(floats: [1, 1, 1], shape: [1, 3])])["y"]
        #expect(y?.floats() == [4.5, 16])
        #expect(profiler.entries.map(\.op) == ["matmul"])
    }
}
