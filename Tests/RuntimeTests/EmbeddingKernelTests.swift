import GraphIR
import Operators
import TestSupport
import Tensors
import Testing

@testable import Runtime

/// The kernel of `embedding` against the reference evaluation.
@Suite struct EmbeddingKernelTests {
    private func graph(_ tables: [Tensor], _ ids: [[Dim]], idType: DType = .i64, hasNorm: Bool = true) throws -> Graph {
        var random = SeededRandom(seed: 3)
        var builder = GraphBuilder(name: "embedding")
        var operands: [ValueID?] = []
        for (index, table) in tables.enumerated() {
            operands += [builder.constant(table, name: "table\(index)"), builder.input("ids\(index)", TensorType(idType, ids[index]))]
        }
        operands += Array(repeating: nil, count: 6 - operands.count)
        let width = tables[0].shape[1]
        if hasNorm {
            operands += [builder.constant(try random.tensor(.f32, [width]), name: "scale"), builder.constant(try random.tensor(.f32, [width]), name: "bias")]
        }
        let y = try builder.add(Embedding(epsilon: 1e-6), operands)
        builder.output("y", y[0])
        return builder.graph
    }

    @Test(arguments: [DType.f32, .f16, .bf16, .q8_0, .q4_k], [DType.i64, .i32])
    func agreesWithTheReference(_ dtype: DType, _ idType: DType) throws {
        var random = SeededRandom(seed: 8)
        let width = 256
        let tables = try [40, 9, 3].map { rows in
            let table = try random.tensor(.f32, [rows, width])
            return try dtype.isBlock ? table.quantized(to: dtype) : table.converted(to: dtype)
        }
        let full: [Dim] = [.symbol("batch"), .symbol("sequence")]
        let ids = [
            try Tensor(integers: (0..<10).map { Int64($0 * 7 % 40) - ($0 == 3 ? 40 : 0) }, dtype: idType, shape: [2, 5]),
            try Tensor(integers: [0, 1, 2, 3, 8], dtype: idType, shape: [5]), try Tensor(integers: [2, 0], dtype: idType, shape: [2, 1]),
        ]
        let dims: [[Dim]] = [full, [full[1]], [full[0], 1]]
        for count in 1...3 {
            for hasNorm in [true, false] {
                let graph = try graph(Array(tables[..<count]), Array(dims[..<count]), idType: idType, hasNorm: hasNorm)
                var inputs: [String: Tensor] = [:]
                for index in 0..<count { inputs["ids\(index)"] = ids[index] }
                let profiler = Profiler()
                let actual = try Executor(graph: graph, options: .init(threads: 2, profiler: profiler)).run(inputs)
                #expect(profiler.entries.map(\.kernel) == ["embedding of \(count) tables"])
                let expected = try interpret(graph, inputs)
                #expect(difference(try #require(actual["y"]), try #require(expected["y"])) < 1e-5)
            }
        }
    }

    @Test func idsOutsideTheTableAreErrors() throws {
        var random = SeededRandom(seed: 8)
        let executor = try Executor(graph: graph([random.tensor(.f32, [4, 8])], [[.symbol("n")]]))
        for id in [4, -5, Int64.max] {
            let error = #expect(throws: RuntimeError.self) { try executor.run(["ids0": Tensor(integers: [0, id], shape: [2])]) }
            #expect(error?.description.contains("id \(id) (element 1) is outside the table's 4 rows") == true)
        }
    }
}
