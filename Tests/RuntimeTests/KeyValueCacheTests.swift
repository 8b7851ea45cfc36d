import GraphIR
import Operators
import Tensors
import TestSupport
import Testing

@testable import Runtime

/// Generation step by step equals one run over everything.
@Suite struct KeyValueCacheTests {
    /// Two layers of attention whose operands are functions of the ids, and the positions.
    static func graph(window: Int = 0, softcap: Float = 0, heads: Int = 4, shared: Int = 2, width: Int = 8) throws -> Graph {
        var builder = GraphBuilder(name: "attention")
        let type = TensorType(.i64, [.symbol("batch"), .symbol("sequence")])
        let ids = builder.input("input_ids", type)
        let mask = builder.input("attention_mask", type, default: .ones)
        var random = SeededRandom(seed: 5)
        let positions = try builder.apply(CachePositions(), ids, mask)
        let frequencies = builder.constant(try Tensor(floats: (0..<width / 2).map { 1 / Float(1 + $0) }, shape: [width / 2]), name: "frequencies")
        func operand(_ heads: Int, _ name: String) throws -> ValueID {
            let table = try Tensor(floats: (0..<16 * heads * width).map { _ in random.float() }, shape: [16, heads, width])
            return try builder.apply(Gather(axis: 0), builder.constant(table, name: name), ids)
        }
        for slot in 0..<2 {
            let q = try builder.apply(RotaryEmbedding(isInterleaved: slot == 1), operand(heads, "q\(slot)"), positions, frequencies)
            let k = try builder.apply(RotaryEmbedding(isInterleaved: slot == 1), operand(shared, "k\(slot)"), positions, frequencies)
            let attention = CachedAttention(slot: slot, scale: 0.7, window: window, softcap: softcap)
            builder.output("out\(slot)", try builder.apply(attention, q, k, operand(shared, "v\(slot)"), mask))
        }
        builder.output("positions", positions)
        return builder.graph
    }

    static func ids(_ batch: Int, _ sequence: Int, seed: UInt64 = 3) throws -> [[Int64]] {
        var random = SeededRandom(seed: seed)
        return (0..<batch).map { _ in (0..<sequence).map { _ in Int64(random.next() % 16) } }
    }

    static func tensor(_ rows: [[Int64]], _ columns: Range<Int>) throws -> Tensor {
        try Tensor(integers: rows.flatMap { $0[columns] }, shape: [rows.count, columns.count])
    }

    /// The rows of real tokens of `[batch, sequence, ...]`, by sequence and position.
    static func rows(_ tensor: Tensor, _ mask: [[Int64]], from start: Int = 0) -> [[[Float]]] {
        let (batch, sequence) = (tensor.shape[0], tensor.shape[1])
        let width = tensor.count / max(batch * sequence, 1)
        let values = tensor.floats()
        return (0..<batch).map { b in
            (0..<sequence).filter { mask[b][start + $0] != 0 }.map { Array(values[(b * sequence + $0) * width..<(b * sequence + $0 + 1) * width]) }
        }
    }

    @Test(arguments: [(0, Float(0)), (3, 0), (0, 2.5), (5, 1)], [[20], [1, 1, 1, 17], [16, 1, 3], [7, 13]])
    func stepsEqualOneRun(_ kind: (window: Int, softcap: Float), _ steps: [Int]) throws {
        let graph = try Self.graph(window: kind.window, softcap: kind.softcap)
        let total = steps.reduce(0, +)
        let ids = try Self.ids(3, total)
        // Left padding of different lengths, none in the last row.
        let mask = [5, 2, 0].map { pad in (0..<total).map { Int64($0 < pad ? 0 : 1) } }
        let inputs = ["input_ids": try Self.tensor(ids, 0..<total), "attention_mask": try Self.tensor(mask, 0..<total)]
        let reference = try interpret(graph, inputs)
        for threads in [1, 3] {
            let executor = try Executor(graph: graph, options: ExecutorOptions(threads: threads))
            let whole = try executor.run(inputs)
            let cache = try executor.makeCache(batch: 3, capacity: total)
            var start = 0
            var pieces: [String: [[[Float]]]] = [:]
            for step in steps {
                let range = start..<start + step
                let result = try executor.run(
                    ["input_ids": try Self.tensor(ids, range), "attention_mask": try Self.tensor(mask, range)], cache: cache)
                for (name, tensor) in result {
                    let rows = Self.rows(tensor, mask, from: start)
                    pieces[name] = pieces[name].map { zip($0, rows).map(+) } ?? rows
                }
                start += step
            }
            #expect(cache.length == total && cache.room == 0)
            for name in ["out0", "out1", "positions"] {
                let expected = Self.rows(try #require(reference[name]), mask)
                #expect(Self.distance(expected, Self.rows(try #require(whole[name]), mask)) < 2e-6, "\(name), one run")
                #expect(Self.distance(expected, try #require(pieces[name])) < 2e-6, "\(name), in steps")
            }
        }
    }

    /// More queries and keys than one block or panel has, and heads of more than one panel.
    @Test(arguments: [(0, Float(0)), (33, 0), (100, 1.5), (1, 0)])
    func longPromptsWithWindowsAndSoftcaps(_ kind: (window: Int, softcap: Float)) throws {
        let graph = try Self.graph(window: kind.window, softcap: kind.softcap, width: 24)
        let total = 150
        let ids = try Self.ids(2, total)
        let mask = [40, 0].map { pad in (0..<total).map { Int64($0 < pad ? 0 : 1) } }
        let inputs = ["input_ids": try Self.tensor(ids, 0..<total), "attention_mask": try Self.tensor(mask, 0..<total)]
        let reference = try interpret(graph, inputs)
        let whole = try Executor(graph: graph, options: ExecutorOptions(threads: 2)).run(inputs)
        for name in ["out0", "out1"] {
            #expect(Self.distance(Self.rows(try #require(reference[name]), mask), Self.rows(try #require(whole[name]), mask)) < 4e-6, "\(name)")
        }
    }

    static func distance(_ a: [[[Float]]], _ b: [[[Float]]]) -> Float {
        guard a.map(\.count) == b.map(\.count) else { return .infinity }
        return zip(a.joined().joined(), b.joined().joined()).map { abs($0 - $1) }.reduce(0) { $1.isNaN ? .infinity : max($0, $1) }
    }

    @Test func truncatedCacheGoesOnFromThere() throws {
        let executor = try Executor(graph: try Self.graph())
        let ids = try Self.ids(1, 12)
        let cache = try executor.makeCache(capacity: 12)
        let first = try executor.run(["input_ids": try Self.tensor(ids, 0..<12)], cache: cache)
        cache.truncate(to: 7)
        #expect(cache.length == 7)
        let again = try executor.run(["input_ids": try Self.tensor(ids, 7..<12)], cache: cache)
        let ones = [[Int64](repeating: 1, count: 12)]
        for name in ["out1", "positions"] {
            let tail = [Array(Self.rows(try #require(first[name]), ones)[0][7...])]
            #expect(Self.distance(tail, Self.rows(try #require(again[name]), ones)) < 2e-6)
        }
    }

    @Test func fullContextIsAnErrorThatChangesNothing() throws {
        let executor = try Executor(graph: try Self.graph())
        let ids = try Self.ids(1, 6)
        let cache = try executor.makeCache(capacity: 5)
        _ = try executor.run(["input_ids": try Self.tensor(ids, 0..<4)], cache: cache)
        let error = #expect(throws: RuntimeError.self) { _ = try executor.run(["input_ids": try Self.tensor(ids, 4..<6)], cache: cache) }
        #expect(error?.reason == .contextFull)
        #expect(cache.length == 4)
        _ = try executor.run(["input_ids": try Self.tensor(ids, 4..<5)], cache: cache)
        #expect(cache.length == 5)
    }

    @Test func wrongUseIsAnError() throws {
        let executor = try Executor(graph: try Self.graph())
        let ids = try Self.ids(2, 4)
        let cache = try executor.makeCache(capacity: 8)
        #expect(throws: RuntimeError.self) { _ = try executor.run(["input_ids": try Self.tensor(ids, 0..<4)], cache: cache) }
        // Not all layers run for these outputs.
        #expect(throws: RuntimeError.self) {
            _ = try executor.run(["input_ids": try Self.tensor([ids[0]], 0..<4)], outputs: ["out0"], cache: cache)
        }
        #expect(cache.length == 0)
        #expect(throws: RuntimeError.self) { _ = try executor.makeCache(batch: 0, capacity: 8) }
        #expect(throws: RuntimeError.self) { _ = try executor.makeCache(batch: .max, capacity: .max) }
        var builder = GraphBuilder(name: "plain")
        builder.output("y", builder.input("x", TensorType(.f32, [2])))
        let plain = try Executor(graph: builder.graph)
        #expect(throws: RuntimeError.self) { _ = try plain.makeCache(capacity: 8) }
    }
}
