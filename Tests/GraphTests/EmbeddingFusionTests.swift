import GraphIR
import TestSupport
import Tensors
import Testing

@testable import Operators
@testable import Optimizer

/// The beginning of encoders as one operator, and what only looks like it.
@Suite struct EmbeddingFusionTests {
    /// Words, positions of all sequences and token types, summed by `sum` into `%x`.
    private func optimize(
        _ sum: String, inputs: String = "", norm: String = "layer_norm(%x, %scale, %bias) {epsilon = 1e-12, normalizedRank = 1}", outputs: String = "",
        pipeline: PassPipeline = .default
    ) throws -> (lines: [String], report: OptimizationReport) {
        var graph = try Graph(parsing: """
            graph "encoder" {
              input %ids : i64[batch, sequence]
              input %segments : i64[batch, sequence]
              input %places : i64[1, sequence]
            \(inputs)
              constant %types : f32[2, 4] = [0, 1, 2, 3, 4, 5, 6, 7]
              constant %words : f32[5, 4] = [0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17, 18, 19]
              constant %positions : f32[3, 4] = [0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11]
              constant %scale : f32[4] = [1, 2, 3, 4]
              constant %bias : f32[4] = [4, 3, 2, 1]
              %w = gather(%words, %ids) {axis = 0} : f32[batch, sequence, 4]
              %p = gather(%positions, %places) {axis = 0} : f32[1, sequence, 4]
              %t = gather(%types, %segments) {axis = 0} : f32[batch, sequence, 4]
            \(sum)
              %y = \(norm) : f32[batch, sequence, 4]
              output "y" = %y
            \(outputs)
            }
            """)
        let report = try pipeline.run(&graph)
        try graph.verify()
        return (graph.text.split(separator: "\n").map { String($0.drop { $0 == " " }) }.filter { $0.hasPrefix("%") }, report)
    }

    private static let fused = """
        %y = embedding(%words, %ids, %positions, %places, %types, %segments, %scale, %bias) {epsilon = 1e-12} : f32[batch, sequence, 4]
        """

    private static let sum = "%s = add(%w, %p) : f32[batch, sequence, 4]\n"

    @Test(arguments: [
        sum + "%x = add(%s, %t) : f32[batch, sequence, 4]",
        "%s = add(%w, %t) : f32[batch, sequence, 4]\n%x = add(%p, %s) : f32[batch, sequence, 4]",
        "%s = add(%p, %t) : f32[batch, sequence, 4]\n%x = add(%w, %s) : f32[batch, sequence, 4]",
    ])
    func sumsInAnyOrder(_ sum: String) throws {
        let result = try optimize(sum)
        #expect(result.lines == [Self.fused])
        #expect(result.report.fusionCounts["embedding"] == 1 && result.report.fusionCounts["layer_norm"] == 1)
    }

    @Test func normsThatAddOneTableThemselves() throws {
        let norm = "layer_norm(%x, %scale, %bias, %t) {epsilon = 1e-12, normalizedRank = 1}"
        #expect(try optimize("%x = add(%p, %w) : f32[batch, sequence, 4]", norm: norm).lines == [Self.fused])
    }

    @Test func fewerTables() throws {
        #expect(try optimize("%x = add(%p, %w) : f32[batch, sequence, 4]").lines == [
            "%y = embedding(%words, %ids, %positions, %places, _, _, %scale, %bias) {epsilon = 1e-12} : f32[batch, sequence, 4]"
        ])
    }

    @Test func tablesIn16Bits() throws {
        let half = "constant %small : f16[2, 4] = [0, 1, 2, 3, 4, 5, 6, 7]"
        let sum = "%g = gather(%small, %segments) {axis = 0} : f16[batch, sequence, 4]\n%c = cast(%g) {to = f32} : f32[batch, sequence, 4]\n"
            + Self.sum + "%x = add(%s, %c) : f32[batch, sequence, 4]"
        // The rule alone: other passes would widen so small a table.
        let result = try optimize(sum, inputs: half, pipeline: PassPipeline(passes: [RewritePass(rule: EmbeddingFusion())]))
        #expect(result.lines.last?.contains("embedding(%words, %ids, %positions, %places, %small, %segments,") == true)
    }

    @Test(arguments: [
        // A second consumer of the sum, and the sum as an output.
        ("%x = add(%s, %t) : f32[batch, sequence, 4]\n%z = neg(%x) : f32[batch, sequence, 4]", "output \"z\" = %z", "%x is also used by %z"),
        ("%x = add(%s, %t) : f32[batch, sequence, 4]", "output \"s\" = %s", "%s is an output of the graph"),
        // Rows of what is no table of the model, along another axis, of whole numbers.
        ("%u = gather(%given, %segments) {axis = 0} : f32[batch, sequence, 4]\n%x = add(%s, %u) : f32[batch, sequence, 4]", "", "%given is no table"),
    ])
    func nearMisses(_ rest: String, _ outputs: String, _ reason: String) throws {
        let result = try optimize(Self.sum + rest, inputs: "input %given : f32[2, 4]", outputs: outputs)
        #expect(!result.lines.contains { $0.contains("embedding") })
        #expect(result.report.nearMisses.contains { $0.rule == "embedding" && $0.reason.contains(reason) }, "\(result.report.nearMisses)")
    }

    @Test func otherNormsStay() throws {
        let sum = Self.sum + "%x = add(%s, %t) : f32[batch, sequence, 4]"
        let wide = "layer_norm(%x) {epsilon = 1e-12, normalizedRank = 2}"
        #expect(try !optimize(sum, norm: wide).lines.contains { $0.contains("embedding") })
        // Four addends are no embedding.
        let four = Self.sum + "%q = add(%s, %t) : f32[batch, sequence, 4]\n%v = gather(%words, %segments) {axis = 0} : f32[batch, sequence, 4]\n"
            + "%x = add(%q, %v) : f32[batch, sequence, 4]"
        #expect(try !optimize(four).lines.contains { $0.contains("embedding") })
        // Another epsilon is kept.
        let epsilon = "layer_norm(%x, %scale, %bias) {epsilon = 1e-05, normalizedRank = 1}"
        #expect(try optimize(sum, norm: epsilon).lines == [Self.fused.replacing("1e-12", with: "1e-05")])
    }

    @Test func operandsAreChecked() throws {
        let table = try Tensor(floats: [0, 1, 2, 3, 4, 5], shape: [3, 2]), ids = try Tensor(integers: [0, -1, 2, 1], shape: [2, 2])
        let places = try Tensor(integers: [1, 0], dtype: .i32, shape: [2])
        let y = try Embedding(epsilon: 0).evaluate(Inputs([table, ids, table, places]))
        // Rows of two different elements are -1 and 1.
        #expect(y[0].shape == [2, 2, 2] && y[0].floats() == [-1, 1, -1, 1, -1, 1, -1, 1])
        let op = Embedding(epsilon: 0)
        func fails(_ inputs: [Tensor?]) { #expect(throws: OperatorError.self) { try op.evaluate(Inputs(inputs)) } }
        fails([table, try Tensor(integers: [3], shape: [1])])
        fails([table, table])
        fails([table, ids, try Tensor(floats: [0, 1, 2], shape: [1, 3]), ids])
        fails([table, ids, table])
        fails([table, ids, nil, nil, nil, nil, try Tensor(floats: [1], shape: [1])])
    }
}
