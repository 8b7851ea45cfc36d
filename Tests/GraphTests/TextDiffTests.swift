import Foundation
import GraphIR
import Operators
import Tensors
import Testing

@Suite struct TextDiffTests {
    private func graph(_ body: String) throws -> Graph {
        try Graph(parsing: "graph \"g\" {\ninput %x : f32[n, 2]\n\(body)\n}")
    }

    @Test func namesOrderSharingAndDeadCodeDoNotCount() throws {
        let a = try graph(
            """
            constant %w : f32[2] = [1.0, 2.0]
            %p = neg(%x) : f32[n, 2]
            %q = mul(%x, %w) : f32[n, 2]
            %r = add(%p, %q) : f32[n, 2]
            %s = add(%r, %p) : f32[n, 2]
            output "o" = %s
            """)
        let b = try graph(
            """
            %dead = abs(%x) : f32[n, 2]
            constant %other : f32[2] = [1.0, 2.0]
            %2 = mul(%x, %other) : f32[n, 2] "named"
            %1 = neg(%x) : f32[n, 2]
            %3 = add(%1, %2) : f32[n, 2]
            %twin = neg(%x) : f32[n, 2]
            %4 = add(%3, %twin) : f32[n, 2]
            output "o" = %4
            """)
        #expect(GraphDiff(a, b).differences.isEmpty && GraphDiff(b, a).differences.isEmpty)
        #expect(!a.isIdentical(to: b))
    }

    @Test func differencesAreNamed() throws {
        let base = "constant %w : f32[2] = [1.0, 2.0]\n%p = softmax(%x) {axis = 1} : f32[n, 2] \"soft\"\n%r = add(%p, %w) : f32[n, 2]\noutput \"o\" = %r"
        let a = try graph(base)
        func differences(_ from: String, _ to: String) throws -> [String] {
            GraphDiff(a, try graph(base.replacingOccurrences(of: from, with: to))).differences
        }
        #expect(try differences("[1.0, 2.0]", "[1.0, 2.5]") == ["%w: the constants f32[2] differ in 1 of 2 elements, at most by 0.5"])
        #expect(try differences("f32[2] = [1.0, 2.0]", "f32[1] = [1.0]") == ["%w: a constant f32[2] in the first, f32[1] in the second"])
        #expect(try differences("axis = 1", "axis = 0")
            == [#"%p: softmax {axis = 1} "soft" in the first, softmax {axis = 0} "soft" in the second"#])
        #expect(try differences("add(%p, %w)", "add(%w, %p)").count == 2)
        #expect(try differences("add(%p", "add(%x")
            == [#"%p / %x: softmax {axis = 1} "soft" in the first, the input "x" in the second"#])
        #expect(try differences("\"o\"", "\"z\"") == [#"output "o": only in the first"#, #"output "z": only in the second"#])
        let b = try Graph(parsing: "graph \"g\" {\ninput %x : f32[n, 2]\ninput %y : f32[n] = ones\noutput \"o\" = %x\n}")
        let c = try Graph(parsing: "graph \"g\" {\ninput %x : f32[m, 2]\ninput %z : f32[m]\noutput \"o\" = %x\n}")
        #expect(GraphDiff(b, c).differences == [
            #"input "x": f32[n, 2] in the first, f32[m, 2] in the second"#, #"input "y": only in the first"#, #"input "z": only in the second"#,
        ])
    }

    @Test func absentOperandsAtTheEndDoNotCount() throws {
        let a = try graph("%y = layer_norm(%x, _, _) {epsilon = 0.0, normalizedRank = 1} : f32[n, 2]\noutput \"o\" = %y")
        let b = try graph("%y = layer_norm(%x) {epsilon = 0.0, normalizedRank = 1} : f32[n, 2]\noutput \"o\" = %y")
        let c = try graph("%y = layer_norm(%x, _, _, %x) {epsilon = 0.0, normalizedRank = 1} : f32[n, 2]\noutput \"o\" = %y")
        #expect(GraphDiff(a, b).isEmpty)
        #expect(GraphDiff(a, c).differences == ["%y: operand 3 of layer_norm only in the second"])
    }

    @Test func dotAndSummary() throws {
        let graph = try graph("constant %w : f32[2] = [1.0, 2.0]\n%p = softmax(%x) {axis = 1} : f32[n, 2]\n%r = add(%p, %w) : f32[n, 2]\noutput \"a\\\"b\" = %r")
        #expect(graph.dot == """
            digraph "g" {
              node [shape=box, fontname="Helvetica", fontsize=10];
              edge [fontname="Helvetica", fontsize=8];
              input0 [shape=ellipse, label="x\\nf32[n, 2]"];
              node0 [label="softmax {axis = 1}"];
              input0 -> node0 [label="f32[n, 2]"];
              node1 [label="add\\nw f32[2]"];
              node0 -> node1 [label="f32[n, 2]"];
              output0 [shape=ellipse, style=bold, label="a\\"b\\nf32[n, 2]"];
              node1 -> output0 [label="f32[n, 2]"];
            }

            """)
        let summary = graph.summary
        #expect(summary.nodeCount == 2 && summary.operators.map(\.name) == ["add", "softmax"] && summary.symbols == ["n"])
        #expect(summary.parameterCount == 2 && summary.byteCount == 8 && summary.constants.map(\.dtype) == [.f32])
    }
}
