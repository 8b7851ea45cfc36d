import GraphIR
import TestSupport
import Tensors
import Testing

@testable import Operators
@testable import Optimizer

/// The passes on small graphs in text, and the whole pipeline on random graphs.
@Suite struct OptimizerPassTests {
    private func optimize(_ body: String, _ pipeline: PassPipeline = .default) throws -> [String] {
        var graph = try Graph(parsing: "graph \"test\" {\n\(body)\n}\n")
        try pipeline.run(&graph)
        try graph.verify()
        let lines = graph.text.split(separator: "\n").map { $0.drop { $0 == " " } }.filter { $0.hasPrefix("%") || $0.hasPrefix("output") }
        return lines.map(String.init)
    }

    @Test func shapeArithmeticDisappears() throws {
        // Shape, gather, unsqueeze, concat, reshape: how exporters split heads.
        let lines = try optimize("""
            input %x : f32[batch, sequence, 32]
            constant %zero : i64[] = 0
            constant %tail : i64[2] = [-1, 8]
            %shape = shape(%x) {start = 0} : i64[3]
            %b = gather(%shape, %zero) {axis = 0} : i64[]
            %bv = expand_dims(%b) {axes = [0]} : i64[1]
            %s = shape(%x) {start = 1, end = 2} : i64[1]
            %target = concat(%bv, %s, %tail) {axis = 0} : i64[4]
            %y = reshape(%x, %target) {zeroCopies = false} : f32[batch, sequence, 4, 8]
            output "y" = %y
            """)
        #expect(lines.count == 3)
        #expect(lines[0].hasSuffix(" = dims() {elements = [batch, sequence, 4, 8], isScalar = false} : i64[4]"))
        #expect(lines[1].hasPrefix("%y = reshape(%x, ") && lines[1].hasSuffix(" : f32[batch, sequence, 4, 8]"))
    }

    @Test func identitiesAndChainsGo() throws {
        let lines = try optimize("""
            input %x : f32[batch, 4, 6]
            constant %one : f32[] = 1
            constant %none : f32[1, 1] = [0]
            constant %a : i64[4] = [-1, 2, 2, 6]
            constant %b : i64[3] = [-1, 4, 6]
            constant %starts : i64[1] = [0]
            constant %ends : i64[1] = [9223372036854775807]
            %m = mul(%one, %x) : f32[batch, 4, 6]
            %p = add(%m, %none) : f32[batch, 4, 6]
            %r = reshape(%p, %a) {zeroCopies = false} : f32[batch, 2, 2, 6]
            %q = reshape(%r, %b) {zeroCopies = false} : f32[batch, 4, 6]
            %s = slice(%q, %starts, %ends) {axes = [1]} : f32[batch, 4, 6]
            %t = transpose(%s) {permutation = [0, 2, 1]} : f32[batch, 6, 4]
            %u = transpose(%t) {permutation = [0, 2, 1]} : f32[batch, 4, 6]
            %c = cast(%u) {to = f32} : f32[batch, 4, 6]
            %y = neg(%c) : f32[batch, 4, 6]
            output "y" = %y
            """)
        #expect(lines == ["%y = neg(%x) : f32[batch, 4, 6]", "output \"y\" = %y"])
        // A reversal keeps the dims and is no identity.
        let reversed = try optimize("""
            input %x : f32[4]
            constant %starts : i64[1] = [-1]
            constant %ends : i64[1] = [-9223372036854775808]
            constant %steps : i64[1] = [-1]
            %y = slice(%x, %starts, %ends, %steps) {axes = [0]} : f32[4]
            output "y" = %y
            """)
        #expect(reversed.count == 2)
    }

    @Test func masksStaySmall() throws {
        // Rows that are all the same, spread over the queries by a comparison that every position passes.
        let lines = try optimize("""
            input %mask : bool[b, 1, 1, s]
            input %scores : f32[b, 2, s, s]
            constant %zero : i64[] = 0
            constant %one : i64[] = 1
            constant %nothing : f32[] = 0
            constant %lowest : f32[] = -3.4028235e38
            %n = dims() {elements = [s], isScalar = true} : i64[]
            %positions = range(%zero, %n, %one) : i64[s]
            %shape = dims() {elements = [1, 1, s, 1], isScalar = false} : i64[4]
            %rows = reshape(%positions, %shape) {zeroCopies = false} : i64[1, 1, s, 1]
            %before = less(%rows, %zero) : bool[1, 1, s, 1]
            %after = not(%before) : bool[1, 1, s, 1]
            %both = and(%after, %mask) : bool[b, 1, s, s]
            %added = select(%both, %nothing, %lowest) : f32[b, 1, s, s]
            %y = add(%scores, %added) : f32[b, 2, s, s]
            output "y" = %y
            """)
        #expect(lines == [
            "%select = select(%mask, %nothing, %lowest) : f32[b, 1, 1, s]", "%y = add(%scores, %select) : f32[b, 2, s, s]", "output \"y\" = %y",
        ])
    }

    @Test func constantsFoldUnlessTheyGrow() throws {
        let lines = try optimize("""
            input %x : f32[2, 3]
            constant %w : f32[3, 2] = [1, 2, 3, 4, 5, 6]
            constant %one : f32[] = 1
            constant %large : i64[2] = [1000, 1000]
            %t = transpose(%w) {permutation = [1, 0]} : f32[2, 3]
            %y = sub(%x, %t) : f32[2, 3]
            %z = fill(%large, %one) : f32[1000, 1000]
            output "y" = %y
            output "z" = %z
            """)
        #expect(lines == ["%y = sub(%x, %t) : f32[2, 3]", "%z = fill(%large, %one) : f32[1000, 1000]", "output \"y\" = %y", "output \"z\" = %z"])
    }

    @Test func equalNodesAreOne() throws {
        let lines = try optimize("""
            input %x : f32[n]
            %a = exp(%x) : f32[n]
            %b = exp(%x) : f32[n]
            %y = add(%a, %b) : f32[n]
            output "y" = %y
            output "b" = %b
            """)
        #expect(lines == ["%a = exp(%x) : f32[n]", "%y = add(%a, %a) : f32[n]", "output \"y\" = %y", "output \"b\" = %a"])
    }

    @Test func halfPrecisionIsStorageOnly() throws {
        let lines = try optimize("""
            input %x : f16[n, 2]
            constant %b : f16[2] = [1, 2]
            %s = add(%x, %b) : f16[n, 2]
            %y = exp(%s) : f16[n, 2]
            output "y" = %y
            """)
        #expect(lines.first == "%x_1 = cast(%x) {to = f32} : f32[n, 2] \"x\"")
        #expect(lines.contains("%y = exp(%s) : f32[n, 2]"))
        #expect(lines.last == "output \"y\" = %y_1")
    }

    @Test func contradictionsAreErrors() throws {
        // The types agree as long as the shape is not known; then it shows that 6 elements cannot be 4.
        #expect(throws: (any Error).self) {
            try optimize("""
                input %x : f32[6]
                constant %f : f32[2] = [2, 2]
                %shape = cast(%f) {to = i64} : i64[2]
                %y = reshape(%x, %shape) {zeroCopies = false} : f32[2, 2]
                output "y" = %y
                """)
        }
    }

    // MARK: random graphs

    private struct Interpreter {
        let symbols: [String: Int]

        func run(_ graph: Graph, _ inputs: [Tensor]) throws -> [Tensor] {
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
            return try graph.outputs.map { try #require(values[$0.value] ?? graph.constant($0.value)) }
        }
    }

    @Test func randomGraphsKeepTheirAnswers() throws {
        // Without the first pass, which leaves out the roundings to 16 bits.
        let pipeline = PassPipeline(passes: Array(PassPipeline.default.passes.drop { $0 is HalfPrecisionWidening }))
        #expect(pipeline.passes.count == PassPipeline.default.passes.count - 1)
        var compared = 0
        for seed in 0..<40 as Range<UInt64> {
            let graph = try RandomGraph.make(seed: seed)
            var optimized = graph
            try pipeline.run(&optimized)
            var random = SeededRandom(seed: seed)
            var symbols: [String: Int] = [:]
            for (index, symbol) in graph.inputSymbols.enumerated() { symbols[symbol] = index + 2 }
            let inputs = try graph.inputs.map { id -> Tensor in
                let shape = try graph.type(id).dims.map { try #require(try $0.evaluate(symbols)) }
                let count = try Shape.count(shape)
                if graph.type(id).dtype.isFloat {
                    return try Tensor(floats: (0..<count).map { _ in random.float() }, dtype: graph.type(id).dtype, shape: shape)
                }
                return try Tensor(integers: (0..<count).map { _ in Int64(random.int(0..<2)) }, dtype: graph.type(id).dtype, shape: shape)
            }
            let interpreter = Interpreter(symbols: symbols)
            for (before, after) in zip(try interpreter.run(graph, inputs), try interpreter.run(optimized, inputs)) {
                #expect(before.dtype == after.dtype && before.shape == after.shape)
                let (x, y) = (before.doubles(), after.doubles())
                for index in x.indices where x[index].isFinite && abs(x[index]) < 1e6 {
                    compared += 1
                    #expect(abs(x[index] - y[index]) <= 1e-4 * max(1, abs(x[index])), "seed \(seed): \(x[index]) became \(y[index])")
                }
            }
        }
        #expect(compared > 1000)
    }

    /// Damaged graphs that still read as graphs: the optimizer may refuse them, but never traps or leaves an invalid graph.
    @Test func damagedGraphsNeverTrap() throws {
        let graphs = try (0..<6 as Range<UInt64>).map { try RandomGraph.make(seed: $0, nodes: 6) }
        let contents = graphs.flatMap { graph in graph.externalConstants.map { (name: graph[$0].name, tensor: graph.constant($0)) } }
        let samples = graphs.map { Array($0.text.utf8) } + [
            Array("""
                graph "g" {
                  input %q : f32[b, 2, s, 4]
                  input %mask : f32[b, 1, 1, s]
                  constant %factor : f32[] = 0.5
                  constant %w : f32[4, 4] = [1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16]
                  %t = transpose(%q) {permutation = [0, 1, 3, 2]} : f32[b, 2, 4, s]
                  %p = matmul(%q, %t) {transposeA = false, transposeB = false} : f32[b, 2, s, s]
                  %f = mul(%p, %factor) : f32[b, 2, s, s]
                  %z = add(%f, %mask) : f32[b, 2, s, s]
                  %a = softmax(%z) {axis = -1} : f32[b, 2, s, s]
                  %v = matmul(%a, %q) {transposeA = false, transposeB = false} : f32[b, 2, s, 4]
                  %y = matmul(%v, %w) {transposeA = false, transposeB = false} : f32[b, 2, s, 4]
                  output "y" = %y
                }
                """.utf8)
        ]
        var fuzzer = Fuzzer(samples: samples)
        var optimized = 0
        try fuzzer.run { bytes in
            let parsed = try? Graph(parsing: String(decoding: bytes, as: UTF8.self)) { name in
                guard let tensor = contents.first(where: { $0.name == name })?.tensor else { throw TensorError("no constant \(name)") }
                return tensor
            }
            guard var graph = parsed, (try? PassPipeline.default.run(&graph)) != nil
            else { return }
            try graph.verify()
            optimized += 1
        }
        #expect(optimized > 0)
    }
}
