import Foundation
import TestSupport
import Tensors
import Testing

@testable import GraphIR
@testable import Operators

private func message(_ body: () throws -> Void) -> String {
    do {
        try body()
        return "no error"
    } catch {
        return "\(error)"
    }
}

private func parse(_ text: String, like graph: Graph) throws -> Graph {
    var constants: [ExactName: Tensor] = [:]
    for id in graph.externalConstants { constants[ExactName(graph[id].name)] = graph.constant(id) }
    return try Graph(parsing: text) { name in
        guard let tensor = constants[ExactName(name)] else { throw TensorError("no constant \(name)") }
        return tensor
    }
}

@Suite struct TextTests {
    /// One of each operator, with attributes that are easy to get wrong.
    static let operators: [any Operator] =
        [
            Cast(to: .bf16), MatMul(transposeA: true), Linear(layout: .output_input, activation: .gelu_tanh), RMSNorm(epsilon: 1e-12),
            LayerNorm(epsilon: .leastNonzeroMagnitude, normalizedRank: .max), ScaledDotProductAttention(scale: -.infinity, isCausal: true),
            Gather(axis: -1), GatherElements(axis: .min), GatherND(batchDims: 1), ScatterND(), Reshape(zeroCopies: true), ExpandDims(axes: []),
            Squeeze(axes: [0, -1]), Transpose(permutation: [1, 0]), Concat(axis: 0), Slice(axes: [3]), Expand(), Tile(), Pad(mode: .reflect),
            Arange(), Fill(), ShapeOf(), ShapeOf(start: -2, end: -1), CumSum(axis: 1, isReverse: true), Trilu(isUpper: false), NonZero(),
            Quantize(to: .u8, axis: 0), Dequantize(), DynamicQuantize(), MatMulInteger(), QuantizeRows(), QuantizedLinear(activation: .gelu), Select(),
            Reduce(.logSumExp, axes: [0, 1], keepDims: false), Softmax(.log_softmax, axis: 0), Compare(.not_equal),
            CachedAttention(slot: 3, scale: 0.1, window: .max, softcap: 30), CachePositions(), TokenRows(leading: 1), PadTokens(),
            RotaryEmbedding(isInterleaved: true, factor: -0), Embedding(epsilon: 1e-12),
            GatedActivation(.silu), Dims(scalar: .fixed(.min)), Dims([]),
            Dims(oddDims),
        ] + Unary.Kind.allCases.map { Unary($0) } + Binary.Kind.allCases.map { Binary($0) }

    private static let oddDims: [Dim] = {
        let (a, b) = (Dim.symbol("a"), Dim.symbol("b"))
        let computed = [try? a * b * -2 - 1, try? a * .fixed(.min), try? Dim.apply(.floordiv, .symbol("x,y"), 2)].compactMap { $0 }
        return [3, .symbol("batch"), .symbol("odd name, ]}`\\"), .symbol("\n\t"), .symbol(""), .symbol("max")] + computed
    }()

    @Test func attributesReadBack() throws {
        let table = OperatorTable(OperatorRegistry.all)
        for op in Self.operators {
            var scanner = TextScanner(op.attributeText + " ")
            let attributes = op.attributeText.isEmpty ? [] : try scanner.attributes()
            let read = try table.make(op.mnemonic, attributes)
            #expect(read.isEqual(to: op), "\(op.mnemonic)\(op.attributeText)")
        }
        #expect(Self.oddDims.count == 9)
        for type in OperatorRegistry.all {
            #expect(Self.operators.contains { Swift.type(of: $0) == type }, "\(type) is not covered here")
        }
    }

    @Test func attributesOfEveryKindOfProperty() throws {
        struct Everything: Operator {
            struct Inner: Hashable, Codable { var a: UInt8 = 255, list: [[Double]] = [[], [0.1, -0.0]] }
            var text = "a \"b\"\n", word = "word", flag = true, missing: Int?, present: Int? = 4, big: UInt64 = .max, inner = Inner(), inners = [Inner(a: 1)]
            static let name = "everything"
            static let arity = 0...0
            func inferTypes(_ operands: Operands) throws -> [TensorType] { [] }
            func evaluate(_ inputs: Inputs) throws -> [Tensor] { [] }
        }
        let op = Everything()
        let expected = #" {text = "a \"b\"\n", word = word, flag = true, present = 4, big = 18446744073709551615, "#
            + #"inner = {a = 255, list = [[], [0.1, -0.0]]}, inners = [{a = 1, list = [[], [0.1, -0.0]]}]}"#
        #expect(op.attributeText == expected)
        var scanner = TextScanner(expected)
        #expect(try OperatorTable([Everything.self]).make("everything", scanner.attributes()).isEqual(to: op))
    }

    @Test func goldenText() throws {
        var builder = GraphBuilder(name: "tiny")
        let ids = builder.input("input_ids", TensorType(.i64, [.symbol("batch"), .symbol("sequence")]))
        let mask = builder.input("attention_mask", TensorType(.i64, [.symbol("batch"), .symbol("sequence")]), default: .ones)
        let table = builder.constant(try Tensor(floats: [Float](repeating: 0, count: 40), shape: [10, 4]), name: "word embeddings")
        let x = try builder.apply(Gather(axis: 0), table, ids, name: "embed", output: "x")
        let gamma = builder.constant(try Tensor(floats: [1, 0.5, .infinity, -0.0], shape: [4]), name: "gamma")
        let y = try builder.apply(LayerNorm(epsilon: 1e-12), x, gamma, nil, x, output: "y")
        let shape = try builder.apply(ShapeOf(), mask, output: "/Shape_output_0")
        builder.output("last_hidden_state", y)
        builder.output("shape", shape)
        let text = """
            graph "tiny" {
              input %input_ids : i64[batch, sequence]
              input %attention_mask : i64[batch, sequence] = ones
              constant %"word embeddings" : f32[10, 4] = @
              %x = gather(%"word embeddings", %input_ids) {axis = 0} : f32[batch, sequence, 4] "embed"
              constant %gamma : f32[4] = [1.0, 0.5, inf, -0.0]
              %y = layer_norm(%x, %gamma, _, %x) {epsilon = 1e-12, normalizedRank = 1} : f32[batch, sequence, 4]
              %/Shape_output_0 = shape(%attention_mask) {start = 0} : i64[2]
              output "last_hidden_state" = %y
              output "shape" = %/Shape_output_0
            }

            """
        #expect(builder.graph.text == text)
        #expect(try parse(text, like: builder.graph).isIdentical(to: builder.graph))
        // Line ends and spaces do not matter.
        let crlf = text.utf8.split(separator: UInt8(ascii: "\n")).map { String(decoding: $0, as: UTF8.self) }.joined(separator: "  \r\n")
        #expect(try parse(crlf, like: builder.graph).isIdentical(to: builder.graph))
    }

    @Test func randomGraphsReadBack() throws {
        for seed in 0..<60 {
            let graph = try RandomGraph.make(seed: UInt64(seed))
            try graph.verify()
            let text = graph.text
            let read = try parse(text, like: graph)
            #expect(read.isIdentical(to: graph))
            #expect(read.text == text)
            #expect(GraphDiff(read, graph).isEmpty)
        }
    }

    @Test func constantsReadBackBitForBit() throws {
        var random = SeededRandom(seed: 3)
        for dtype in DType.allCases where !dtype.isBlock {
            for shape in [[], [0], [2, 0], [1], [3, 4], [32]] {
                for round in 0..<20 {
                    let tensor = try Tensor(dtype: dtype, shape: shape) { target in
                        for index in target.indices {
                            target[index] = dtype == .bool ? UInt8(random.int(0..<2)) : round == 0 ? 0xFF : UInt8(random.int(0..<256))
                        }
                    }
                    var scanner = TextScanner(ElementText.attribute(of: tensor).text + "\n")
                    let read = try ElementText.tensor(scanner.attribute(), TensorType(dtype, shape: shape))
                    #expect(Tensor.identical(read, tensor))
                }
            }
        }
        #expect(!ElementText.canWrite(try Tensor(dtype: .bool, shape: [1]) { $0[0] = 2 }))
        #expect(!ElementText.canWrite(try Tensor(integers: [Int64](repeating: 0, count: 33), shape: [33])))
    }

    /// A body inside a graph with the input %x : f32[n], and the error it must give.
    static let refused: [(String, String)] = [
        ("%y = add(%x, %z) : f32[n]", "line 3, column 14: %z is not defined before"),
        ("%x = neg(%x) : f32[n]", "line 3, column 1: %x is defined a second time"),
        ("%y = nag(%x) : f32[n]", "line 3, column 6: unknown operator 'nag'"),
        ("%y = binary(%x, %x) : f32[n]", "line 3, column 6: unknown operator 'binary'"),
        ("%y = softmax(%x) : f32[n]", "line 3, column 6: softmax: the attribute 'axis' is missing"),
        ("%y = softmax(%x) {axis = x} : f32[n]", "line 3, column 6: softmax: attribute 'axis': 'x' is not an integer that fits"),
        ("%y = softmax(%x) {axis = \"0\"} : f32[n]", "line 3, column 6: softmax: attribute 'axis': '\"0\"' is not an integer that fits"),
        ("%y = softmax(%x) {axis = 99999999999999999999} : f32[n]",
            "line 3, column 6: softmax: attribute 'axis': '99999999999999999999' is not an integer that fits"),
        ("%y = softmax(%x) {axis = 0, extra = 1} : f32[n]", "line 3, column 6: softmax has no attribute 'extra'"),
        ("%y = softmax(%x) {axis = 0, axis = 1} : f32[n]", "line 3, column 33: the attribute 'axis' stands twice"),
        ("%y = neg(%x) {kind = neg} : f32[n]", "line 3, column 6: neg has no attribute 'kind'"),
        ("%y = layer_norm(%x) {epsilon = nan, normalizedRank = 1} : f32[n]",
            "line 3, column 6: layer_norm: attribute 'epsilon': 'nan' is not a number"),
        ("%y = pad(%x, %x) {mode = odd} : f32[n]", "line 3, column 6: pad: Cannot initialize Mode from invalid String value odd"),
        ("%y = squeeze(%x) {axes = [[0]]} : f32[]", "line 3, column 6: squeeze: attribute 'axes': '[0]' is not an integer that fits"),
        ("%y = squeeze(%x) {axes = 0} : f32[]", "line 3, column 6: squeeze: attribute 'axes': '0' is no list"),
        ("%y = dims() {elements = [max(1], isScalar = true} : i64[]", "line 4, column 1: expected ']'"),
        ("%y = dims() {elements = [[[[[[[[[[1]]]]]]]]]], isScalar = true} : i64[]", "line 3, column 34: nested deeper than 8 levels"),
        ("%y = neg(%x) : f33[n]", "line 3, column 16: unknown element type 'f33'"),
        ("%y = neg(%x) : f32[n+]", "line 3, column 20: 'n+' is not a dimension"),
        ("%y = neg(%x) : f32[n], f32[n]", "line 3, column 1: 1 outputs, but 2 types"),
        ("%y = neg(%x : f32[n]", "line 3, column 13: expected ')'"),
        ("%y = neg(%x)", "line 4, column 1: expected ':'"),
        ("%\"y = neg(%x) : f32[n]", "line 3, column 2: a string without an end"),
        ("% = neg(%x) : f32[n]", "line 3, column 2: expected a name after '%'"),
        ("%\"\" = neg(%x) : f32[n]", "line 3, column 1: an empty name"),
        ("constant %c : f32[2] = [1]", "line 3, column 24: 1 elements for a constant of type f32[2]"),
        ("constant %c : f32[n] = [1]", "line 3, column 24: a constant of the type f32[n], which is not fixed"),
        ("constant %c : f32[-1] = []", "line 3, column 25: a constant of the type f32[-1], which is not fixed"),
        ("constant %c : i8[1] = [128]", "line 3, column 23: '128' is not an element of type i8"),
        ("constant %c : f16[1] = [65520]", "line 3, column 24: '65520' is not an element of type f16"),
        ("constant %c : f32[1] = [1e39]", "line 3, column 24: '1e39' is not an element of type f32"),
        ("constant %c : f32[] = nan(0x0)", "line 3, column 23: 'nan(0x0)' is not an element of type f32"),
        ("constant %c : f32[] = nan", "line 3, column 23: 'nan' is not an element of type f32"),
        ("constant %c : f32[9223372036854775807, 9] = @", "the contents of the constant c are not given"),
        ("input %i : f32[n] = twos", "line 3, column 25: unknown default 'twos'"),
        ("output \"o\" = %q", "line 3, column 13: %q is not defined before"),
        ("nonsense", "line 3, column 1: expected input, constant, output or a value, found 'nonsense'"),
        ("%y = add(%x) : f32[n]", "graph g, node 0 (add): has 1 operands, takes 2 to 2"),
        ("%y = add(%x, %x) : f32[m, m]", "graph g, node 0 (add): %y is recorded as f32[m, m], its rule gives f32[n]"),
        ("%y = add(%x, %x) : i64[n]", "graph g, node 0 (add): %y is recorded as i64[n], its rule gives f32[n]"),
    ]

    @Test func refusedTexts() {
        for (body, expected) in Self.refused {
            let found = message { _ = try Graph(parsing: "graph \"g\" {\ninput %x : f32[n]\n\(body)\n}") }
            #expect(found == expected || found == "graph text, " + expected, "\(body): \(found)")
        }
        #expect(message { _ = try Graph(parsing: "") } == "graph text, line 1, column 1: the text ends too early")
        #expect(message { _ = try Graph(parsing: "graphs") }.contains("starts with the word 'graph'"))
        #expect(message { _ = try Graph(parsing: "graph \"g\" {") } == "graph text, line 1, column 12: the text ends too early")
        #expect(message { _ = try Graph(parsing: "graph \"g\" {} x") }.contains("text after the end"))
    }

    @Test func wrongContentsAreRefused() {
        let text = "graph \"g\" { constant %c : f32[40] = @\n output \"o\" = %c }"
        let found = message { _ = try Graph(parsing: text) { _ in try Tensor(floats: [1], shape: [1]) } }
        #expect(found == "graph text, line 1, column 21: the contents of %c are f32[1], declared as f32[40]")
    }

    @Test func longChainsDoNotRecurse() throws {
        var lines = ["graph \"deep\" {", "input %v0 : f32[n]"]
        for index in 1...5_000 { lines.append("%v\(index) = neg(%v\(index - 1)) : f32[n]") }
        lines.append("output \"o\" = %v5000\n}")
        let graph = try Graph(parsing: lines.joined(separator: "\n"))
        #expect(graph.nodes.count == 5_000 && GraphDiff(graph, graph).isEmpty)
        let open = String(repeating: "max(", count: 100_000)
        #expect(message { _ = try Graph(parsing: "graph \"g\" { input %x : f32[\(open)] }") }.contains("is not a dimension"))
        let nested = String(repeating: "[", count: 100_000)
        #expect(message { _ = try Graph(parsing: "graph \"g\" { constant %x : f32[1] = \(nested) }") }.contains("nested deeper"))
    }

    @Test func fuzzedTexts() throws {
        let graphs = try (0..<8).map { try RandomGraph.make(seed: UInt64($0), nodes: 12) }
        var samples = graphs.map { Array($0.text.utf8) }
        samples += Self.refused.map { Array("graph \"g\" {\ninput %x : f32[n]\n\($0.0)\n}".utf8) }
        var fuzzer = Fuzzer(samples: samples)
        var parsed = 0
        try fuzzer.run { bytes in
            do {
                let text = String(decoding: bytes, as: UTF8.self)
                let graph = try Graph(parsing: text) { name in
                    guard name == "norm" else { return try Tensor(floats: [Float](repeating: 0, count: 1024), shape: [128, 8]) }
                    return try Tensor(floats: [Float](repeating: 0, count: 64), shape: [8, 8])
                }
                parsed += 1
                #expect(try parse(graph.text, like: graph).isIdentical(to: graph))
                #expect(!graph.dot.isEmpty && graph.summary.nodeCount == graph.nodes.count)
            } catch is GraphTextError {
            } catch is VerificationError {
            } catch is TensorError {}
        }
        #expect(parsed >= 0)
    }
}
