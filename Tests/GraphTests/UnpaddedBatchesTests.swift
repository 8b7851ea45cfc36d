import GraphIR
import TestSupport
import Tensors
import Testing

@testable import Operators
@testable import Optimizer

/// Encoders on real tokens alone: what the pass writes, and where it leaves the graph as it is.
@Suite struct UnpaddedBatchesTests {
    /// One attention over heads of `x W`, and what `tail` makes of its `%y`, `[batch, sequence, 8]`.
    private func graph(_ tail: String, attention: String = "isCausal = false", mask: String = "%mask", more: String = "") throws -> Graph {
        try Graph(parsing: """
            graph "encoder" {
              input %x : f32[batch, sequence, 8]
              input %attention_mask : i64[batch, sequence]
              input %positions : f32[1, sequence, 8]
              constant %w : f32[8] = [1, 2, 3, 4, 5, 6, 7, 8]
              constant %first : i64[] = 0
              constant %last : i64[] = -1
              %real = cast(%attention_mask) {to = bool} : bool[batch, sequence]
              %mask = expand_dims(%real) {axes = [1, 2]} : bool[batch, 1, 1, sequence]
            \(more)
              %moved = add(%x, %positions) : f32[batch, sequence, 8]
              %scaled = mul(%moved, %w) : f32[batch, sequence, 8]
              %split = dims() {elements = [batch, sequence, 2, 4], isScalar = false} : i64[4]
              %parts = reshape(%scaled, %split) {zeroCopies = false} : f32[batch, sequence, 2, 4]
              %q = transpose(%parts) {permutation = [0, 2, 1, 3]} : f32[batch, 2, sequence, 4]
              %a = scaled_dot_product_attention(%q, %q, %q, \(mask)) {scale = 0.5, \(attention), emptyRowsAreZero = false} : f32[batch, 2, sequence, 4]
              %back = transpose(%a) {permutation = [0, 2, 1, 3]} : f32[batch, sequence, 2, 4]
              %joined = dims() {elements = [batch, sequence, 8], isScalar = false} : i64[3]
              %y = reshape(%back, %joined) {zeroCopies = false} : f32[batch, sequence, 8]
            \(tail)
            }
            """)
    }

    private func run(_ graph: Graph) throws -> (graph: Graph, refusal: String?) {
        var graph = graph
        var report = OptimizationReport()
        let count = try UnpaddedBatches().run(&graph, &report)
        try graph.verify()
        #expect((count == 1) == (report.nearMisses.isEmpty && graph.nodes.contains { $0.op is TokenRows }))
        return (graph, report.nearMisses.first?.description)
    }

    @Test func tokensRunOneBehindTheOther() throws {
        let result = try run(graph("""
              %cls = gather(%y, %first) {axis = 1} : f32[batch, 8]
              output "last_hidden_state" = %y
              output "pooled" = %cls
            """))
        #expect(result.refusal == nil)
        var graph = result.graph
        var report = OptimizationReport()
        _ = try DeadCode().run(&graph, &report)
        let lines = graph.text.split(separator: "\n").map { $0.drop { $0 == " " } }.filter { $0.hasPrefix("%") || $0.hasPrefix("output") }
        #expect(lines.joined(separator: "\n") == """
            %real = cast(%attention_mask) {to = bool} : bool[batch, sequence]
            %mask = expand_dims(%real) {axes = [1, 2]} : bool[batch, 1, 1, sequence]
            %unpad = dims() {elements = [batch, sequence], isScalar = false} : i64[2] "unpad"
            %unpad_1 = reshape(%mask, %unpad) {zeroCopies = false} : bool[batch, sequence] "unpad"
            %tokens, %token_positions, %token_offsets = token_rows(%unpad_1) {leading = 1} : i64[1, tokens.0], i64[1, tokens.0], i64[batch + 1] "unpad"
            %unpad_2 = dims() {elements = [batch*sequence], isScalar = false} : i64[1] "unpad"
            %unpad_3 = reshape(%unpad_1, %unpad_2) {zeroCopies = false} : bool[batch*sequence] "unpad"
            %unpad_4 = gather(%unpad_3, %tokens) {axis = 0} : bool[1, tokens.0] "unpad"
            %unpad_5 = dims() {elements = [1, 1, 1, tokens.0], isScalar = false} : i64[4] "unpad"
            %unpad_6 = reshape(%unpad_4, %unpad_5) {zeroCopies = false} : bool[1, 1, 1, tokens.0] "unpad"
            %unpad_7 = dims() {elements = [batch*sequence, 8], isScalar = false} : i64[2] "unpad"
            %unpad_8 = reshape(%x, %unpad_7) {zeroCopies = false} : f32[batch*sequence, 8] "unpad"
            %x.tokens = gather(%unpad_8, %tokens) {axis = 0} : f32[1, tokens.0, 8] "unpad"
            %unpad_9 = dims() {elements = [sequence, 8], isScalar = false} : i64[2] "unpad"
            %unpad_10 = reshape(%positions, %unpad_9) {zeroCopies = false} : f32[sequence, 8] "unpad"
            %unpad_11 = gather(%unpad_10, %token_positions) {axis = 0} : f32[1, tokens.0, 8] "unpad"
            %moved = add(%x.tokens, %unpad_11) : f32[1, tokens.0, 8]
            %scaled = mul(%moved, %w) : f32[1, tokens.0, 8]
            %dims = dims() {elements = [1, tokens.0, 2, 4], isScalar = false} : i64[4]
            %parts = reshape(%scaled, %dims) {zeroCopies = false} : f32[1, tokens.0, 2, 4]
            %q = transpose(%parts) {permutation = [0, 2, 1, 3]} : f32[1, 2, tokens.0, 4]
            %a = scaled_dot_product_attention(%q, %q, %q, %unpad_6, %token_offsets) {scale = 0.5, isCausal = false, emptyRowsAreZero = false} : f32[1, 2, tokens.0, 4]
            %back = transpose(%a) {permutation = [0, 2, 1, 3]} : f32[1, tokens.0, 2, 4]
            %dims_1 = dims() {elements = [1, tokens.0, 8], isScalar = false} : i64[3]
            %y = reshape(%back, %dims_1) {zeroCopies = false} : f32[1, tokens.0, 8]
            %pad = dims() {elements = [batch, sequence], isScalar = false} : i64[2] "pad"
            %y.padded = pad_tokens(%y, %tokens, %token_offsets, %pad) : f32[batch, sequence, 8] "pad"
            %cls = gather(%y.padded, %first) {axis = 1} : f32[batch, 8]
            output "last_hidden_state" = %y.padded
            output "pooled" = %cls
            """)
        #expect(try Graph(parsing: result.graph.text).text == result.graph.text)
    }

    @Test func meansOverRealTokensStay() throws {
        let weights = "%f = cast(%attention_mask) {to = f32} : f32[batch, sequence]\n%weights = expand_dims(%f) {axes = [2]} : f32[batch, sequence, 1]\n"
        let mean = "%product = mul(%y, %weights) : f32[batch, sequence, 8]\n%sum = reduce_sum(%product) {axes = [1], keepDims = false} : f32[batch, 8]\n"
        #expect(try run(graph(weights + mean + "output \"sum\" = %sum")).refusal == nil)
        // The other weights count padding, and these are 1 for it.
        let inverse = "constant %two : f32[] = 2\n%g = cast(%attention_mask) {to = f32} : f32[batch, sequence]\n%f = sub(%two, %g) : f32[batch, sequence]\n"
            + "%weights = expand_dims(%f) {axes = [2]} : f32[batch, sequence, 1]\n"
        #expect(try run(graph(inverse + mean + "output \"sum\" = %sum")).refusal?.contains("tokens meet in it (reduce_sum)") == true)
    }

    @Test(arguments: [
        ("%mean = reduce_mean(%y) {axes = [1], keepDims = false} : f32[batch, 8]\noutput \"mean\" = %mean", "tokens meet in it (reduce_mean)"),
        ("%tail = gather(%y, %last) {axis = 1} : f32[batch, 8]\noutput \"tail\" = %tail", "far from the first"),
        ("output \"heads\" = %a", "not one row for each token"),
        ("%p = softmax(%y) {axis = 1} : f32[batch, sequence, 8]\noutput \"p\" = %p", "tokens meet in it (softmax)"),
    ])
    func whatReadsPaddingStays(_ tail: String, _ reason: String) throws {
        let plain = try graph(tail)
        let result = try run(plain)
        #expect(result.refusal?.contains(reason) == true, "\(result.refusal ?? "no refusal")")
        #expect(result.graph.text == plain.text)
    }

    @Test func biasOfPositionsGoesBesideTheMask() throws {
        let more = """
              input %bias : f32[1, 2, sequence, sequence]
              constant %zero : f32[] = 0
              constant %low : f32[] = -10000
              %added = select(%mask, %zero, %low) : f32[batch, 1, 1, sequence]
              %both = add(%bias, %added) : f32[batch, 2, sequence, sequence]
            """
        let result = try run(graph("output \"y\" = %y", mask: "%both", more: more))
        #expect(result.refusal == nil)
        let attention = try #require(result.graph.nodes.first { $0.op is ScaledDotProductAttention })
        let operands = attention.inputs.dropFirst(3).map { $0.map { result.graph.type($0).description } ?? "" }
        #expect(operands == ["f32[1, 1, 1, tokens.0]", "i64[batch + 1]", "i64[1, tokens.0]", "f32[1, 2, sequence, sequence]"])
        // A bias of its own for each sequence is none of positions.
        let own = more.replacing("%bias : f32[1, 2,", with: "%bias : f32[batch, 2,")
        #expect(try run(graph("output \"y\" = %y", mask: "%both", more: own)).refusal?.contains("[batch, 1, 1, sequence]") == true)
    }

    @Test func otherMasksStay() throws {
        let tail = "output \"y\" = %y"
        #expect(try run(graph(tail, attention: "isCausal = true")).refusal?.contains("causal") == true)
        let square = "input %bias : f32[1, 2, sequence, sequence]"
        #expect(try run(graph(tail, mask: "%bias", more: square)).refusal?.contains("[batch, 1, 1, sequence]") == true)
        let fixed = "constant %many : bool[1, 1, 1, 1] = [true]"
        #expect(try run(graph(tail, mask: "%many", more: fixed)).refusal?.contains("[batch, 1, 1, sequence]") == true)
        // Two attentions with masks of their own.
        let second = """
              %other = not(%mask) : bool[batch, 1, 1, sequence]
              %b = scaled_dot_product_attention(%q, %q, %q, %other) {scale = 0.5, isCausal = false, emptyRowsAreZero = false} : f32[batch, 2, sequence, 4]
              %sum = add(%a, %b) : f32[batch, 2, sequence, 4]
              %u = transpose(%sum) {permutation = [0, 2, 1, 3]} : f32[batch, sequence, 2, 4]
              output "u" = %u
            """
        #expect(try run(graph(second)).refusal?.contains("not that of the first attention") == true)
        // No mask, no padding.
        var unmasked = try Graph(parsing: graph(tail).text.replacing(", %mask)", with: ")"))
        var report = OptimizationReport()
        #expect(try UnpaddedBatches().run(&unmasked, &report) == 0)
        #expect(report.nearMisses.isEmpty)
    }

    @Test func tokenRowsKeepWhatIsReadByPlace() throws {
        // Padding on the right, on the left, a hole, a sequence of padding alone.
        let mask = try Tensor(bools: [true, true, false, false, false, true, true, true, true, false, true, false, false, false, false, false], shape: [4, 4])
        let rows = try TokenRows(leading: 1).evaluate(Inputs([mask]))
        #expect(rows[2].integers() == [0, 2, 6, 8, 12])
        #expect(Array(rows[0].integers().prefix(12)) == [0, 1, 4, 5, 6, 7, 8, 10, 12, 13, 14, 15])
        #expect(Array(rows[1].integers().prefix(12)) == [0, 1, 0, 1, 2, 3, 0, 2, 0, 1, 2, 3])
        // Surplus rows up to a multiple of 8.
        #expect(Array(rows[0].integers().suffix(4)) == [0, 0, 0, 0] && rows[0].shape == [1, 16])
        let added = try Tensor(floats: mask.integers().map { $0 == 0 ? -10000 : 0 }, shape: [4, 4])
        for (a, b) in zip(try TokenRows(leading: 1).evaluate(Inputs([added])), rows) { #expect(Tensor.identical(a, b)) }
        #expect(TokenRows.rounded(2002, limit: 4096) == 2016)
        #expect(TokenRows.rounded(4096, limit: 4096) == 4096)
        #expect(TokenRows.rounded(3, limit: 5) == 5)
    }

    @Test func paddingComesBackAsZeros() throws {
        let rows = try Tensor(integers: [1, 2, 4, 0], shape: [1, 4])
        let offsets = try Tensor(integers: [0, 2, 3], shape: [3])
        let x = try Tensor(floats: [1, 2, 3, 9], shape: [1, 4, 1])
        let y = try PadTokens().evaluate(Inputs([x, rows, offsets, try Tensor(integers: [2, 3], shape: [2])]))
        #expect(y[0].shape == [2, 3, 1] && y[0].floats() == [0, 1, 2, 0, 3, 0])
        let bad = try Tensor(integers: [0, 3, 9], shape: [3])
        #expect(throws: OperatorError.self) { try PadTokens().evaluate(Inputs([x, rows, bad, try Tensor(integers: [2, 3], shape: [2])])) }
    }
}
