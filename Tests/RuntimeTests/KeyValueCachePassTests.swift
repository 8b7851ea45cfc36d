import GraphIR
import Operators
import Optimizer
import Runtime
import Tensors
import TestSupport
import Testing

/// What the pass takes for a causal model and what it leaves alone, on a decoder of one layer.
@Suite struct KeyValueCachePassTests {
    enum Mask: CaseIterable { case causalAndPadding, causal, window, none, biased, futureOfPast, perHead }
    enum Positions: CaseIterable { case input, places, counted, shifted, reversed }

    private static let heads = 2
    private static let width = 4
    private static let vocabulary = 11

    /// `hasPast`: past inputs joined before keys and values, and presents among the outputs.
    private static func decoder(
        hasPast: Bool = true, mask: Mask = .causalAndPadding, positions: Positions = .counted,
        tail: ((inout GraphBuilder, ValueID, [ValueID]) throws -> ValueID)? = nil
    ) throws -> Graph {
        var b = GraphBuilder(name: "decoder")
        var random = SeededRandom(seed: 7)
        func weight(_ shape: [Int]) throws -> Tensor {
            try Tensor(floats: (0..<shape.reduce(1, *)).map { _ in Float(random.next() % 2001) / 1000 - 1 }, shape: shape)
        }
        let hidden = heads * width
        let ids = b.input("input_ids", TensorType(.i64, [.symbol("b"), .symbol("s")]))
        let given = b.input("attention_mask", TensorType(.i64, [.symbol("b"), hasPast ? .symbol("t") : .symbol("s")]))
        var pasts: [ValueID] = []
        if hasPast {
            for name in ["key", "value"] {
                pasts.append(b.input("past_key_values.0.\(name)", TensorType(.f32, [.symbol("b"), .fixed(heads), .symbol("p"), .fixed(width)])))
            }
        }
        let (zero, one) = (try b.scalar(0, .i64), try b.scalar(1, .i64))
        func size(_ value: ValueID, _ axis: Int) throws -> ValueID { try b.apply(Squeeze(axes: [0]), b.apply(ShapeOf(start: axis, end: axis + 1), value)) }
        let sequence = try size(ids, 1)
        let past = hasPast ? try size(pasts[0], 2) : zero
        let total = try b.apply(Binary(.add), past, sequence)
        let places = try b.apply(Arange(), past, total, one)

        let counted = try b.apply(Binary(.sub), b.apply(CumSum(axis: 1), given), one)
        let position: ValueID
        switch positions {
        case .input: position = b.input("position_ids", TensorType(.i64, [.symbol("b"), .symbol("s")]))
        case .places: position = places
        case .counted:
            position = try b.apply(Slice(axes: [1]), counted, b.apply(ExpandDims(axes: [0]), past), b.apply(ExpandDims(axes: [0]), total))
        case .shifted: position = try b.apply(Binary(.add), places, b.scalar(2, .i64))
        case .reversed: position = try b.apply(Binary(.sub), total, places)
        }
        let words = try b.apply(Gather(axis: 0), b.constant(weight([vocabulary, hidden]), name: "words"), ids)
        let turns = try b.apply(Gather(axis: 0), b.constant(weight([64, hidden]), name: "places"), position)
        let x = try b.apply(Binary(.add), words, turns)
        func project(_ x: ValueID, _ name: String) throws -> ValueID {
            let y = try b.apply(MatMul(), x, b.constant(weight([hidden, hidden]), name: name))
            return try b.apply(Transpose(permutation: [0, 2, 1, 3]), b.apply(Reshape(zeroCopies: true), y, b.integers([0, 0, heads, width])))
        }
        let q = try project(x, "q")
        var (k, v) = (try project(x, "k"), try project(x, "v"))
        if hasPast {
            k = try b.apply(Concat(axis: 2), pasts[0], k)
            v = try b.apply(Concat(axis: 2), pasts[1], v)
        }
        let rows = try b.apply(ExpandDims(axes: [1]), places)
        let keys = try b.apply(Arange(), zero, total, one)
        let isPast = try b.apply(Compare(.greater_equal), rows, keys)
        let isToken = try b.apply(ExpandDims(axes: [1, 2]), b.apply(Cast(to: .bool), given))
        var allowed: ValueID? = try b.apply(Binary(.and), isPast, isToken)
        switch mask {
        case .causalAndPadding: break
        case .causal: allowed = isPast
        case .window:
            let isNear = try b.apply(Compare(.less), b.apply(Binary(.sub), rows, keys), b.scalar(5, .i64))
            allowed = try b.apply(Binary(.and), allowed!, isNear)
        case .none: allowed = nil
        case .biased, .perHead:
            let zeros = mask == .biased
                ? try b.apply(Cast(to: .f32), b.apply(Binary(.sub), keys, rows)) : b.constant(try Tensor(floats: [0, -1e30], shape: [heads, 1, 1]))
            allowed = try b.apply(Select(), allowed!, zeros, b.scalar(-.infinity, .f32))
        case .futureOfPast: allowed = try b.apply(Binary(.and), b.apply(Compare(.greater_equal), b.apply(Binary(.add), rows, one), keys), isToken)
        }
        var y = try b.apply(ScaledDotProductAttention(scale: 0.5, emptyRowsAreZero: true), q, k, v, allowed)
        y = try b.apply(Reshape(zeroCopies: true), b.apply(Transpose(permutation: [0, 2, 1, 3]), y), b.integers([0, 0, hidden]))
        if let tail { y = try tail(&b, y, pasts) }
        b.output("logits", try b.apply(MatMul(), y, b.constant(weight([hidden, vocabulary]), name: "head")))
        if hasPast {
            b.output("present.0.key", k)
            b.output("present.0.value", v)
        }
        return b.graph.compacted()
    }

    private static func ids(_ batch: Int, _ count: Int) throws -> Tensor {
        try Tensor(integers: (0..<batch * count).map { Int64($0 * 7 % vocabulary) }, shape: [batch, count])
    }

    /// The optimised graph, in two runs with a cache, against the plain graph in one run.
    private static func compare(_ plain: Graph, _ mask: Tensor, positions: Tensor? = nil, pasts: Bool) throws -> Double {
        var graph = plain
        let report = try PassPipeline.default.run(&graph)
        #expect(report.count(of: "key_value_cache") == 1, "\(report.nearMisses)")
        let (batch, count) = (mask.shape[0], mask.shape[1])
        let ids = try ids(batch, count)
        var inputs = ["input_ids": ids, "attention_mask": mask]
        if let positions { inputs["position_ids"] = positions }
        for name in pasts ? ["key", "value"] : [] {
            inputs["past_key_values.0.\(name)"] = try Tensor(floats: [], shape: [batch, heads, 0, width])
        }
        let expected = try #require(try Executor(graph: plain).run(inputs)["logits"]).floats()
        let executor = try Executor(graph: graph)
        let cache = try executor.makeCache(batch: batch, capacity: count)
        var largest = 0.0
        var start = 0
        for size in [count - 3, 2, 1] {
            func part(_ tensor: Tensor) throws -> Tensor {
                let numbers = tensor.integers()
                return try Tensor(integers: (0..<batch).flatMap { numbers[$0 * count + start..<$0 * count + start + size] }, shape: [batch, size])
            }
            let logits = try #require(try executor.run(["input_ids": part(ids), "attention_mask": part(mask)], cache: cache)["logits"]).floats()
            let real = mask.integers()
            for row in 0..<batch {
                for index in 0..<size where real[row * count + start + index] == 1 {
                    for place in 0..<vocabulary {
                        let (a, b) = (logits[(row * size + index) * vocabulary + place], expected[(row * count + start + index) * vocabulary + place])
                        largest = max(largest, abs(Double(a - b)))
                    }
                }
            }
            start += size
        }
        return largest
    }

    private static func mask(_ rows: [[Int64]]) throws -> Tensor { try Tensor(integers: rows.flatMap { $0 }, shape: [rows.count, rows[0].count]) }

    @Test(arguments: [true, false], [Mask.causalAndPadding, .window]) func cachedStepsEqualOneRun(hasPast: Bool, mask: Mask) throws {
        let whole = try Self.mask([Array(repeating: 1, count: 12)])
        let padded = try Self.mask([[0, 0, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1], Array(repeating: 1, count: 12), [1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 0]])
        let rightPadded = try Self.mask([Array(repeating: 1, count: 12), [1, 1, 1, 1, 1, 1, 1, 0, 0, 0, 0, 0]])
        for positions in [Positions.counted, .places, .shifted] {
            let graph = try Self.decoder(hasPast: hasPast, mask: mask, positions: positions)
            #expect(try Self.compare(graph, whole, pasts: hasPast) < 1e-5)
            #expect(try Self.compare(graph, rightPadded, pasts: hasPast) < 1e-5)
            // Positions that count padding differ on purpose: a row in a batch gives what it gives alone.
            if positions == .counted { #expect(try Self.compare(graph, padded, pasts: hasPast) < 1e-5) }
        }
        let counted = try Tensor(integers: [0, 0] + Array(0..<10) + Array(0..<12) + Array(0..<12), shape: [3, 12])
        #expect(try Self.compare(Self.decoder(hasPast: hasPast, mask: mask, positions: .input), padded, positions: counted, pasts: hasPast) < 1e-5)
    }

    @Test func aMaskWithoutPaddingIsCausal() throws {
        let whole = try Self.mask([Array(repeating: 1, count: 7), Array(repeating: 1, count: 7)])
        #expect(try Self.compare(Self.decoder(mask: .causal, positions: .places), whole, pasts: true) < 1e-5)
    }

    private static func refusal(_ graph: Graph) throws -> String? {
        var changed = graph
        let report = try PassPipeline.default.run(&changed)
        #expect(report.count(of: "key_value_cache") == 0)
        #expect(Set(changed.inputs.map { changed[$0].name }) == Set(graph.inputs.map { graph[$0].name }))
        #expect(changed.outputs.map(\.name) == graph.outputs.map(\.name))
        return report.nearMisses.first { $0.rule == "key_value_cache" }?.reason
    }

    @Test func masksOfAnotherMeaningStay() throws {
        #expect(try Self.refusal(Self.decoder(mask: .none)) == "its mask is not that of a causal attention that leaves out padding")
        #expect(try Self.refusal(Self.decoder(mask: .biased))?.hasPrefix("its mask adds ") == true)
        #expect(try Self.refusal(Self.decoder(mask: .futureOfPast)) == "its mask is not that of a causal attention that leaves out padding")
        #expect(try Self.refusal(Self.decoder(mask: .perHead)) == "its mask is not the same for all heads")
        // An encoder is no near miss.
        #expect(try Self.refusal(Self.decoder(hasPast: false, mask: .none)) == nil)
    }

    @Test func otherNumbersThanPositionsStay() throws {
        let reason = try Self.refusal(Self.decoder(positions: .reversed))
        #expect(reason?.hasSuffix("its numbers are not the positions of the new tokens") == true, "\(reason ?? "none")")
    }

    @Test func whatElseDependsOnThePastStays() throws {
        let reason = try Self.refusal(Self.decoder { b, y, pasts in
            try b.apply(Binary(.add), y, b.apply(Reduce(.mean, axes: [0, 1, 2, 3], keepDims: false), pasts[0]))
        })
        #expect(reason == "it depends on %past_key_values.0.key", "\(reason ?? "none")")
        let length = try Self.refusal(Self.decoder { b, y, pasts in
            let size = try b.apply(Cast(to: .f32), b.apply(ShapeOf(start: 2, end: 3), pasts[0]))
            return try b.apply(Binary(.mul), y, size)
        })
        #expect(length == "it depends on the length of the past", "\(length ?? "none")")
    }

    /// Without a past tokens may meet nowhere else: a token that is mixed with the one before it would lack it in the next run.
    @Test func tokensThatMeetElsewhereStay() throws {
        let shifted = try Self.refusal(Self.decoder(hasPast: false) { b, y, _ in
            try b.apply(Binary(.add), y, b.apply(Reduce(.mean, axes: [1], keepDims: true), y))
        })
        #expect(shifted == "tokens may meet in it (reduce_mean)", "\(shifted ?? "none")")
        let summed = try Self.refusal(Self.decoder(hasPast: false) { b, y, _ in try b.apply(CumSum(axis: 1), y) })
        #expect(summed == "tokens may meet in it (cumsum)", "\(summed ?? "none")")
    }
}
