import GraphIR
import TestSupport
import Tensors
import Testing

@testable import Operators
@testable import Optimizer

/// Every rule of the default pipeline on an example of its own: what it makes of it, that it lets alone what others need, and what only looks like it; and
/// that the answers stay.
@Suite struct RuleGuardTests {
    private static let rules = PassPipeline.default.passes.compactMap { ($0 as? RewritePass)?.rule }

    /// Rules with examples in tests of their own.
    private static let elsewhere: Set<String> = ["embedding", "block_weight"]

    @Test func everyRuleHasAnExample() {
        let names = Set(Self.rules.map(\.name))
        #expect(names.subtracting(Self.elsewhere) == Set(RuleExample.all.map(\.rule)), "\(names.symmetricDifference(RuleExample.all.map(\.rule)))")
        for example in RuleExample.all { #expect(!example.misses.isEmpty, "\(example.rule)") }
    }

    private func optimize(_ graph: Graph, _ name: String) throws -> (graph: Graph, report: OptimizationReport) {
        let rule = try #require(Self.rules.first { $0.name == name })
        var optimized = graph
        let report = try PassPipeline(passes: [RewritePass(rule: rule), DeadCode()]).run(&optimized)
        try optimized.verify()
        return (optimized, report)
    }

    private func parse(_ body: String) throws -> Graph { try Graph(parsing: "graph \"test\" {\n\(body)\n}\n") }

    private func nodes(_ graph: Graph) -> [String] {
        graph.text.split(separator: "\n").map { String($0.drop { $0 == " " }) }.filter { $0.hasPrefix("%") }
    }

    @Test(arguments: RuleExample.all) func fuses(_ example: RuleExample) throws {
        let graph = try parse(example.body)
        let (optimized, report) = try optimize(graph, example.rule)
        #expect(report.count(of: example.rule) == 1)
        // Constants and what follows from inputs alone may stay before the rule's own nodes.
        let lines = nodes(optimized)
        #expect(lines == example.fused || Array(lines.suffix(example.fused.count)) == example.fused, "\(lines.joined(separator: "\n"))")
        try expectEqual(graph, optimized)
    }

    /// A second consumer, or an output of the graph, in every place of the pattern.
    @Test(arguments: RuleExample.all) func letsOthersHaveWhatTheyUse(_ example: RuleExample) throws {
        let graph = try parse(example.body)
        // What the rule does not take away may have any consumers.
        let (fused, _) = try optimize(graph, example.rule)
        let free = example.shared.union(fused.nodes.flatMap(\.outputs).map { fused[$0].name })
        let results = Set(graph.outputs.map(\.value))
        for value in graph.nodes.flatMap(\.outputs) where !results.contains(value) {
            let name = graph[value].name
            var output = graph
            output.outputs.append(Output(name: "extra", value: value))
            var consumer = graph
            let extra = try consumer.add(Cast(to: .f64), [value], name: "extra")[0]
            consumer.outputs.append(Output(name: "extra", value: extra))
            for (what, changed) in [("output", output), ("consumer", consumer)] {
                let (optimized, report) = try optimize(changed, example.rule)
                #expect(report.count(of: example.rule) == (free.contains(name) ? 1 : 0), "\(what) of %\(name)")
                try expectEqual(changed, optimized)
            }
        }
    }

    @Test(arguments: RuleExample.all) func leavesAloneWhatOnlyLooksLikeIt(_ example: RuleExample) throws {
        for miss in example.misses {
            let body = example.body.replacing(miss.text, with: miss.instead)
            try #require(body != example.body, "\(miss.text)")
            let graph = try parse(body)
            let (optimized, report) = try optimize(graph, example.rule)
            #expect(report.count(of: example.rule) == 0, "\(miss.instead)")
            if let reason = miss.reason { #expect(report.nearMisses.map(\.reason) == [reason], "\(miss.instead)") }
            try expectEqual(graph, optimized)
        }
    }

    // MARK: Help

    /// Both graphs, by the operators' own evaluation, on the same inputs.
    private func expectEqual(_ before: Graph, _ after: Graph, location: SourceLocation = #_sourceLocation) throws {
        var symbols: [String: Int] = [:]
        for (index, symbol) in before.inputSymbols.enumerated() { symbols[symbol] = index + 2 }
        var random = SeededRandom(seed: 8)
        let inputs = try before.inputs.map { id -> Tensor in
            let shape = try before.type(id).dims.map { try #require(try $0.evaluate(symbols)) }
            let count = try Shape.count(shape)
            if before.type(id).dtype.isFloat { return try Tensor(floats: (0..<count).map { _ in random.float() }, dtype: before.type(id).dtype, shape: shape) }
            return try Tensor(integers: (0..<count).map { _ in Int64(random.int(0..<2)) }, dtype: before.type(id).dtype, shape: shape)
        }
        func run(_ graph: Graph) throws -> [String: Tensor] {
            var values = Dictionary(uniqueKeysWithValues: zip(graph.inputs, inputs))
            for node in graph.nodes {
                let results: [Tensor]
                if let dims = node.op as? Dims {
                    let elements = try dims.elements.map { Int64(try #require(try $0.evaluate(symbols))) }
                    results = [try Tensor(integers: elements, shape: dims.isScalar ? [] : [elements.count])]
                } else {
                    results = try node.op.evaluate(Inputs(node.inputs.map { $0.flatMap { values[$0] ?? graph.constant($0) } }))
                }
                for (output, tensor) in zip(node.outputs, results) { values[output] = tensor }
            }
            return try Dictionary(uniqueKeysWithValues: graph.outputs.map { ($0.name, try #require(values[$0.value] ?? graph.constant($0.value))) })
        }
        let (expected, actual) = (try run(before), try run(after))
        for (name, tensor) in expected {
            let other = try #require(actual[name])
            #expect(other.dtype == tensor.dtype && other.shape == tensor.shape, sourceLocation: location)
            for (x, y) in zip(tensor.doubles(), other.doubles()) where !x.isNaN {
                #expect(abs(x - y) <= 1e-4 * max(1, abs(x)), "\(name): \(x) became \(y)", sourceLocation: location)
            }
        }
    }
}
