import GraphIR
import Operators
import TestSupport
import Tensors
import Testing

@testable import Optimizer
@testable import Runtime

/// Batches of mixed lengths on real tokens: the answers of the padded run.
@Suite struct UnpaddedBatchesTests {
    private func both() throws -> (plain: Graph, unpadded: Graph) {
        let plain = try EncoderGraph().graph()
        var unpadded = plain
        let report = try PassPipeline.default.run(&unpadded)
        #expect(report.count(of: "unpadded_batches") == 1, "\(report.nearMisses)")
        return (plain, unpadded)
    }

    private func batch(_ mask: [[Int64]]) throws -> [String: Tensor] {
        let (rows, width) = (mask.count, mask[0].count)
        let ids = (0..<rows * width).map { Int64($0 * 7 % 49 + 1) }
        return [
            "input_ids": try Tensor(integers: ids, shape: [rows, width]),
            "attention_mask": try Tensor(integers: mask.flatMap { $0 }, shape: [rows, width]),
        ]
    }

    private func compare(_ mask: [[Int64]], threads: Int = 2) throws {
        let (plain, unpadded) = try both()
        let inputs = try batch(mask)
        let expected = try Executor(graph: plain).run(inputs)
        let actual = try Executor(graph: unpadded, options: .init(threads: threads)).run(inputs)
        #expect(difference(try #require(actual["embedding"]), try #require(expected["embedding"])) < 1e-5)
        let hidden = try #require(actual["last_hidden_state"]), reference = try #require(expected["last_hidden_state"])
        #expect(hidden.shape == reference.shape)
        let (x, y) = (hidden.floats(), reference.floats())
        let flat = mask.flatMap { $0 }
        let width = hidden.shape[2]
        for (token, real) in flat.enumerated() {
            let isAlone = mask[token / mask[0].count].allSatisfy { $0 == 0 }
            for index in token * width..<(token + 1) * width {
                if real == 1 { #expect(abs(x[index] - y[index]) < 1e-5) } else if !isAlone { #expect(x[index] == 0) }
            }
        }
    }

    @Test func paddingOfEveryKind() throws {
        try compare([[1, 1, 1, 1, 1, 1, 1], [1, 1, 1, 0, 0, 0, 0], [1, 0, 0, 0, 0, 0, 0]])
        try compare([[0, 0, 0, 0, 0, 1, 1], [1, 1, 1, 1, 1, 1, 1], [0, 0, 1, 1, 1, 1, 1]])
        try compare([[1, 0, 1, 0, 1, 0, 0], [0, 1, 1, 0, 1, 1, 0]])
        try compare([[1, 1, 1]])
        try compare([[1]])
        try compare([[0, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0]], threads: 1)
        // More queries than one piece of work has.
        try compare([[Int64](repeating: 1, count: 60), [Int64](repeating: 1, count: 9) + [Int64](repeating: 0, count: 51)])
    }

    @Test func evaluatesAsTheReference() throws {
        let (_, unpadded) = try both()
        let inputs = try batch([[1, 1, 1, 1, 0, 0], [0, 0, 1, 1, 1, 1], [0, 1, 0, 0, 0, 0]])
        let actual = try Executor(graph: unpadded).run(inputs)
        let expected = try interpret(unpadded, inputs, symbols: ["batch": 3, "sequence": 6])
        for (name, tensor) in expected { #expect(difference(try #require(actual[name]), tensor) < 1e-5, "\(name)") }
    }

    @Test func runsOnRealTokensOnly() throws {
        let (_, unpadded) = try both()
        let profiler = Profiler()
        let executor = try Executor(graph: unpadded, options: .init(threads: 1, profiler: profiler))
        let lengths = [60, 8, 12, 8, 8, 10]
        let inputs = try EncoderGraph().inputs(lengths: lengths)
        _ = try executor.run(inputs, outputs: ["last_hidden_state"])
        // 106 real tokens of 360, rounded up to a multiple of 8.
        #expect(profiler.entries.contains { $0.op == "linear" && $0.kernel.contains("[112, 32]") })
        #expect(!profiler.entries.contains { $0.kernel.contains("360") || $0.kernel == "dynamic" })
        // One plan that finds out what is padding, one for the rest; a few tokens more or less need no new one.
        #expect(executor.cachedPlanCount == 2)
        _ = try executor.run(EncoderGraph().inputs(lengths: [60, 8, 12, 9, 8, 10]), outputs: ["last_hidden_state"])
        #expect(executor.cachedPlanCount == 2)
    }

    @Test func defaultsAndResultsOfOneByOne() throws {
        let (_, unpadded) = try both()
        let executor = try Executor(graph: unpadded)
        let inputs = try EncoderGraph().inputs(lengths: [20, 3, 11])
        let together = try #require(try executor.run(inputs)["embedding"]).floats()
        for (row, length) in [20, 3, 11].enumerated() {
            let ids = Array(try #require(inputs["input_ids"]).integers()[row * 20..<row * 20 + length])
            // The mask is left out: all tokens are real.
            let alone = try #require(try executor.run(["input_ids": Tensor(integers: ids, shape: [1, length])])["embedding"]).floats()
            for (a, b) in zip(alone, together[row * 32..<(row + 1) * 32]) { #expect(abs(a - b) < 1e-5) }
        }
        #expect(throws: RuntimeError.self) { try executor.run(["input_ids": Tensor(integers: [1, 2], shape: [1, 2]), "attention_mask": Tensor(integers: [1], shape: [1, 1])]) }
    }
}
