import GraphIR
import Operators
import Tensors
import TestSupport
import Testing

@testable import Runtime

/// Layers and tables whose weights stay in their blocks or 16-bit floats, against the operators' reference evaluations.
@Suite struct StoredLinearTests {
    private static let types: [DType] = [.f16, .bf16, .q8_0, .q4_0, .q4_1, .q5_0, .q5_1, .q4_k, .q5_k, .q6_k]

    /// Random blocks with scales near 0.01.
    private func weight(_ dtype: DType, _ rows: Int, _ width: Int, _ random: inout SeededRandom) throws -> Tensor {
        guard dtype.isBlock else { return try random.tensor(dtype, [rows, width]) }
        return try Tensor(dtype: dtype, shape: [rows, width]) { bytes in
            for index in bytes.indices { bytes[index] = UInt8.random(in: 0...255, using: &random) }
            // 0x20.. is 0.0078 and up as a 16-bit float, high byte last.
            for start in stride(from: 0, to: bytes.count, by: dtype.blockBytes) {
                if dtype == .q6_k {
                    bytes[start + 209] = 0x20
                } else {
                    bytes[start + 1] = 0x20
                    if [.q4_1, .q5_1, .q4_k, .q5_k].contains(dtype) { bytes[start + 3] = 0x20 }
                }
            }
        }
    }

    private func run(_ op: any Operator, _ x: Tensor, weight: Tensor, weightFirst: Bool = false, others: [Tensor?] = [], kernel: String) throws -> Tensor {
        func add(_ op: some Operator, _ ids: [ValueID?], _ builder: inout GraphBuilder) throws -> [ValueID] { try builder.add(op, ids) }
        var builder = GraphBuilder(name: "one")
        let input = builder.input("x", TensorType(x.dtype, shape: x.shape)), constant = builder.constant(weight, name: "weight")
        let ids = (weightFirst ? [constant, input] : [input, constant]) + others.enumerated().map { index, tensor in
            tensor.map { builder.constant($0, name: "operand\(index)") }
        }
        builder.output("y", try add(op, ids, &builder)[0])
        let profiler = Profiler()
        let result = try Executor(graph: builder.graph, options: ExecutorOptions(threads: 2, profiler: profiler)).run(["x": x])
        #expect(profiler.entries.contains { $0.kernel.hasPrefix(kernel) }, "\(profiler.entries.map(\.kernel))")
        return try #require(result["y"])
    }

    @Test(arguments: types)
    func linear(_ dtype: DType) throws {
        var random = SeededRandom(seed: 30)
        let width = 512
        for n in [1, 70, 133] {
            let weight = try weight(dtype, n, width, &random)
            for m in [1, 3, 16, 33, 50] {
                let x = try random.tensor(.f32, [1, m, width])
                let operands: [Tensor?] = n == 70 ? [try random.tensor(.f32, [n]), try random.tensor(.f32, [1, m, n])] : []
                let op = Linear(layout: .output_input, activation: n == 70 ? .silu : .none)
                let expected = try op.evaluate(Inputs([x, weight] + operands))
                let actual = try run(op, x, weight: weight, others: operands, kernel: "\(dtype.rawValue) linear")
                let size = sizes(x, weight).max() ?? 0
                #expect(difference(actual, expected[0]) <= 2e-5 * size, "\(m) x \(n)")
            }
        }
    }

    /// Blocks of whole numbers, whose products each output scales.
    @Test(arguments: [Activation.none, .gelu], [1, 40])
    func linearWithAScale(_ activation: Activation, m: Int) throws {
        var random = SeededRandom(seed: 32)
        let (n, width) = (70, 96)
        let levels = (0..<n * width).map { _ in Int16(random.int(-128..<128)) }
        let weight = try Tensor(levels: levels, scales: Array(repeating: 1, count: n), group: width, shape: [n, width])
        let scale = try Tensor(floats: (0..<n).map { _ in random.float() * 0.01 }, shape: [n])
        let x = try random.tensor(.f32, [1, m, width])
        let op = Linear(layout: .output_input, activation: activation)
        for (bias, residual) in [(true, true), (true, false), (false, true), (false, false)] {
            let others: [Tensor?] = [bias ? try random.tensor(.f32, [n]) : nil, residual ? try random.tensor(.f32, [1, m, n]) : nil, scale]
            let expected = try op.evaluate(Inputs([x, weight] + others))[0]
            let actual = try run(op, x, weight: weight, others: others, kernel: "q8_0 linear")
            #expect(difference(actual, expected) <= 2e-5 * (sizes(x, weight).max() ?? 0) * 0.01)
        }
    }

    /// What rounding is measured against: for the first rows, sums of |x| |w|.
    private func sizes(_ x: Tensor, _ weight: Tensor) -> [Double] {
        let (x, w) = (x.floats(), weight.floats()), width = weight.shape[1]
        return (0..<min(weight.shape[0], 4)).map { row in (0..<width).reduce(0) { $0 + Double(abs(x[$1] * w[row * width + $1])) } }
    }

    @Test(arguments: types.filter(\.isBlock))
    func gather(_ dtype: DType) throws {
        var random = SeededRandom(seed: 31)
        let table = try weight(dtype, 9, 512, &random)
        let op = Gather(axis: 0)
        for indices in [[3, 0, -1, 8], [], [5]] {
            let ids = try Tensor(integers: indices.map(Int64.init), shape: [1, indices.count])
            let expected = try op.evaluate(Inputs([table, ids]))
            #expect(difference(try run(op, ids, weight: table, weightFirst: true, kernel: "gather blocks"), expected[0]) <= 1e-6)
        }
        #expect(throws: RuntimeError.self) {
            try run(op, try Tensor(integers: [9], shape: [1, 1]), weight: table, weightFirst: true, kernel: "gather blocks")
        }
    }
}
