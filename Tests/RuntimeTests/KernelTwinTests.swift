import GraphIR
import Operators
import Tensors
import TestSupport
import Testing

@testable import Runtime

/// Every fast kernel against the operator's reference evaluation, on ordinary shapes and on sizes 0, 1 and odd ones.
@Suite struct KernelTwinTests {
    /// Runs one node both ways; operands listed in `constants` are constants of the graph.
    private func check(
        _ op: any Operator, _ operands: [Tensor?], constants: Set<Int> = [], tolerance: Double = 2e-6, isFast: Bool = true,
        _ location: SourceLocation = #_sourceLocation
    ) throws {
        var builder = GraphBuilder(name: "one")
        var inputs: [String: Tensor] = [:]
        var ids: [ValueID?] = []
        for (index, tensor) in operands.enumerated() {
            guard let tensor else {
                ids.append(nil)
                continue
            }
            if constants.contains(index) {
                ids.append(builder.constant(tensor, name: "constant\(index)"))
            } else {
                inputs["input\(index)"] = tensor
                ids.append(builder.input("input\(index)", TensorType(tensor.dtype, shape: tensor.shape)))
            }
        }
        let results = try add(op, ids, &builder)
        for (index, id) in results.enumerated() { builder.output("output\(index)", id) }
        let expected = try op.evaluate(Inputs(operands))
        let profiler = Profiler()
        let actual = try Executor(graph: builder.graph, options: ExecutorOptions(threads: 2, profiler: profiler)).run(inputs)
        for (index, tensor) in expected.enumerated() {
            let output = try #require(actual["output\(index)"])
            let error = difference(output, tensor)
            #expect(
                error <= tolerance, "\(op.mnemonic) on \(operands.map { $0?.shape ?? [] }) differs by \(error)", sourceLocation: location)
        }
        if isFast {
            #expect(
                !profiler.entries.contains { $0.kernel == "reference" || $0.kernel == "dynamic" }, "\(op.mnemonic) ran by reference",
                sourceLocation: location)
        }
    }

    private func add(_ op: some Operator, _ ids: [ValueID?], _ builder: inout GraphBuilder) throws -> [ValueID] {
        try builder.add(op, ids)
    }

    @Test(arguments: [1, 3, 17, 100], [1, 5, 130])
    func linear(m: Int, n: Int) throws {
        var random = SeededRandom(seed: UInt64(m * 1000 + n))
        for (k, activation, layout) in [
            (7, Activation.none, Linear.Layout.output_input), (64, .gelu, .input_output), (390, .tanh, .output_input), (1, .relu, .input_output),
        ] {
            let x = try random.tensor(.f32, [m, k])
            let weight = try random.tensor(.f32, layout == .output_input ? [n, k] : [k, n])
            let bias = try random.tensor(.f32, [n])
            let residual = try random.tensor(.f32, [m, n])
            let op = Linear(layout: layout, activation: activation)
            // Sums of k products round differently; the terms reach 4.
            let tolerance = 1e-5 + 4e-7 * Double(k)
            for constants: Set<Int> in [[1, 2], []] { try check(op, [x, weight, bias, residual], constants: constants, tolerance: tolerance) }
            if k > 64 { continue }
            for constants: Set<Int> in [[1, 2], []] {
                try check(op, [x, weight], constants: constants, tolerance: tolerance)
                try check(op, [x, weight, nil, residual], constants: constants, tolerance: tolerance)
            }
        }
    }

    @Test func linearWithoutRowsOrWidth() throws {
        var random = SeededRandom(seed: 3)
        let op = Linear(layout: .output_input)
        try check(op, [try random.tensor(.f32, [2, 0, 8]), try random.tensor(.f32, [4, 8])], constants: [1])
        try check(op, [try random.tensor(.f32, [2, 3, 0]), try random.tensor(.f32, [4, 0]), try random.tensor(.f32, [4])], constants: [1, 2])
        try check(op, [try random.tensor(.f32, [2, 3, 5]), try random.tensor(.f32, [0, 5])], constants: [1])
    }

    @Test func matmul() throws {
        var random = SeededRandom(seed: 4)
        let cases: [([Int], [Int], Bool, Bool)] = [
            ([3, 4], [4, 5], false, false), ([2, 3, 4], [4, 5], false, false), ([2, 3, 7, 4], [2, 3, 4, 9], false, false),
            ([2, 1, 7, 4], [3, 4, 9], false, false), ([2, 3, 4, 7], [2, 3, 9, 4], true, true), ([2, 5, 4], [1, 5, 6], true, false),
            ([4, 110, 33], [4, 17, 33], false, true), ([0, 3, 4], [0, 4, 5], false, false), ([2, 3, 0], [2, 0, 5], false, false),
            ([1, 1], [1, 1], false, false), ([1, 3, 4], [2, 4, 5], false, false), ([70, 100], [70, 90], true, false),
        ]
        for (a, b, transposeA, transposeB) in cases {
            let operands = [try random.tensor(.f32, a), try random.tensor(.f32, b)]
            let op = MatMul(transposeA: transposeA, transposeB: transposeB)
            try check(op, operands, tolerance: 1e-5)
            try check(op, operands, constants: [1], tolerance: 1e-5)
        }
    }

    @Test func matmulInteger() throws {
        var random = SeededRandom(seed: 5)
        for (a, b) in [(DType.u8, DType.i8), (.i8, .i8), (.u8, .u8)] {
            for (m, k, n) in [(1, 1, 1), (3, 70, 33), (130, 64, 200)] {
                let x = try random.tensor(a, [2, m, k])
                let y = try random.tensor(b, [k, n])
                try check(MatMulInteger(), [x, y], constants: [1], tolerance: 0)
                let zeros = [try random.tensor(a, [], positive: true), try random.tensor(b, [n], positive: true)]
                try check(MatMulInteger(), [x, y] + zeros, constants: [1, 3], tolerance: 0)
            }
        }
    }

    @Test(arguments: [1, 3, 16, 70], [1, 5, 33])
    func attention(queries: Int, keys: Int) throws {
        var random = SeededRandom(seed: UInt64(queries * 100 + keys))
        for (heads, shared, width, valueWidth) in [(4, 4, 8, 8), (4, 2, 5, 3), (1, 1, 32, 32)] {
            let q = try random.tensor(.f32, [2, heads, queries, width])
            let k = try random.tensor(.f32, [2, shared, keys, width])
            let v = try random.tensor(.f32, [2, shared, keys, valueWidth])
            var bits = [Bool](repeating: true, count: 2 * keys)
            for index in bits.indices where index % keys != 0 { bits[index] = Bool.random(using: &random) }
            let padding = try Tensor(bools: bits, shape: [2, 1, 1, keys])
            let op = ScaledDotProductAttention(scale: 0.4)
            try check(op, [q, k, v], tolerance: 1e-5)
            try check(op, [q, k, v, padding], tolerance: 1e-5)
            try check(op, [q, k, v, try random.tensor(.f32, [heads, queries, keys])], tolerance: 1e-5)
            try check(op, [q, k, v, try random.tensor(.f32, [2, heads, 1, keys])], tolerance: 1e-5)
            try check(op, [q, k, v, try random.tensor(.f32, [queries, keys])], tolerance: 1e-5)
            try check(op, [q, k, v, try random.tensor(.f32, [2, 1, queries, 1])], tolerance: 1e-5, isFast: false)
            let hidden = try Tensor(bools: [Bool](repeating: false, count: keys), shape: [keys])
            try check(ScaledDotProductAttention(scale: 0.4, emptyRowsAreZero: true), [q, k, v, hidden], tolerance: 1e-5)
            try check(op, [q, k, v, hidden], tolerance: 1e-5)
            if queries <= keys {
                try check(ScaledDotProductAttention(scale: 0.4, isCausal: true), [q, k, v], tolerance: 1e-5)
            }
            try check(ScaledDotProductAttention(scale: 0.4, isCausal: true, emptyRowsAreZero: true), [q, k, v], tolerance: 1e-5)
        }
    }

    @Test func normalization() throws {
        var random = SeededRandom(seed: 6)
        for shape in [[1], [3, 1], [2, 3, 7], [5, 384], [0, 4], [2, 0], [1, 40, 65]] {
            let width = shape[shape.count - 1]
            let x = try random.tensor(.f32, shape)
            let (scale, bias) = (try random.tensor(.f32, [width]), try random.tensor(.f32, [width]))
            let residual = try random.tensor(.f32, shape)
            try check(LayerNorm(epsilon: 1e-5), [x, scale, bias, residual], tolerance: 1e-5)
            try check(LayerNorm(epsilon: 1e-5), [x, scale, bias], tolerance: 1e-5)
            try check(LayerNorm(epsilon: 1e-5), [x], tolerance: 1e-5)
            try check(RMSNorm(epsilon: 1e-5), [x, scale], tolerance: 1e-5)
            try check(Softmax(axis: -1), [x])
            try check(Softmax(.log_softmax, axis: -1), [x])
        }
        let x = try random.tensor(.f32, [2, 3, 4, 5])
        try check(LayerNorm(epsilon: 1e-5, normalizedRank: 2), [x, try random.tensor(.f32, [4, 5]), nil], tolerance: 1e-5)
        try check(LayerNorm(epsilon: 1e-5, normalizedRank: 2), [x, try random.tensor(.f32, [5])], tolerance: 1e-5, isFast: false)
        try check(Softmax(axis: 1), [x], isFast: false)
    }

    @Test func unary() throws {
        var random = SeededRandom(seed: 7)
        for shape in [[], [1], [0, 3], [3, 17], [70_000]] {
            for kind: Unary.Kind in [.abs, .neg, .exp, .reciprocal, .tanh, .sigmoid, .erf, .relu, .gelu, .gelu_tanh, .silu, .log, .sqrt, .rsqrt] {
                let isPositive = [.log, .sqrt, .rsqrt, .reciprocal].contains(kind)
                try check(Unary(kind), [try random.tensor(.f32, shape, positive: isPositive)])
            }
            for kind: Unary.Kind in [.floor, .sin, .round] { try check(Unary(kind), [try random.tensor(.f32, shape)], isFast: false) }
        }
    }

    @Test func tests() throws {
        var random = SeededRandom(seed: 16)
        for shape in [[], [0, 3], [3, 17], [40_000]] { try check(Unary(.not), [try random.tensor(.bool, shape)], tolerance: 0) }
        let special = try Tensor(floats: [.nan, 1, .infinity, -.infinity, -0.0, -.nan], shape: [6])
        for kind: Unary.Kind in [.is_nan, .is_inf] { try check(Unary(kind), [special], tolerance: 0) }
    }

    private static let broadcasts: [([Int], [Int])] = [
        ([], []), ([3, 4], [3, 4]), ([3, 4], []), ([], [3, 4]), ([3, 4], [4]), ([2, 3, 4], [3, 1]), ([2, 1, 4], [1, 3, 1]),
        ([2, 3, 4, 5], [2, 1, 1, 5]), ([1, 1, 1, 1], [1]), ([0, 3], [1, 3]), ([40_000], [1]), ([300, 200], [300, 1]), ([2, 1], [1, 70_000]),
    ]

    @Test func binary() throws {
        var random = SeededRandom(seed: 8)
        for (a, b) in Self.broadcasts {
            for kind: Binary.Kind in [.add, .sub, .mul, .div, .min, .max] {
                try check(Binary(kind), [try random.tensor(.f32, a), try random.tensor(.f32, b, positive: true)])
            }
            for kind: Binary.Kind in [.add, .sub, .mul, .min, .max, .and, .or, .xor] {
                for dtype: DType in [.i64, .i32] {
                    try check(Binary(kind), [try random.tensor(dtype, a), try random.tensor(dtype, b)], tolerance: 0)
                }
            }
            for kind: Binary.Kind in [.and, .or, .xor] {
                try check(Binary(kind), [try random.tensor(.bool, a), try random.tensor(.bool, b)], tolerance: 0)
            }
        }
        try check(Binary(.pow), [try random.tensor(.f32, [3, 5]), try Tensor(floats: [2], shape: [])], constants: [1])
        try check(Binary(.pow), [try random.tensor(.f32, [3, 5], positive: true), try random.tensor(.f32, [5])], isFast: false)
    }

    @Test func compareAndSelect() throws {
        var random = SeededRandom(seed: 9)
        for (a, b) in Self.broadcasts {
            for dtype: DType in [.f32, .i64, .i32, .bool] {
                let (x, y) = (try random.tensor(dtype, a), try random.tensor(dtype, b))
                for kind in Compare.Kind.allCases { try check(Compare(kind), [x, y], tolerance: 0) }
                let shape = try Shape.broadcast(a, b)
                for condition in [shape, [], a] { try check(Select(), [try random.tensor(.bool, condition), x, y], tolerance: 0) }
            }
        }
        let nan = try Tensor(floats: [.nan, 1, .infinity], shape: [3])
        for kind in Compare.Kind.allCases { try check(Compare(kind), [nan, try Tensor(floats: [.nan], shape: [1])], tolerance: 0) }
    }

    @Test func cast() throws {
        var random = SeededRandom(seed: 10)
        let pairs: [(DType, DType)] = [
            (.f16, .f32), (.bf16, .f32), (.f32, .f16), (.f32, .bf16), (.i64, .f32), (.i32, .f32), (.u8, .f32), (.i8, .f32), (.bool, .f32),
            (.bool, .i64), (.bool, .i32), (.i64, .bool), (.i32, .bool), (.f32, .bool), (.i64, .i32), (.i32, .i64), (.f32, .i64),
        ]
        for (from, to) in pairs {
            for shape in [[], [0], [3, 11], [40_000]] { try check(Cast(to: to), [try random.tensor(from, shape)], tolerance: 0) }
        }
        try check(Cast(to: .i64), [try Tensor(floats: [.nan, .infinity, -.infinity, 1e20, -0.9], shape: [5])], tolerance: 0)
        try check(Cast(to: .f64), [try random.tensor(.f32, [4])], tolerance: 0, isFast: false)
    }

    @Test func copies() throws {
        var random = SeededRandom(seed: 11)
        for dtype: DType in [.f32, .i64, .f16, .bool] {
            for (shape, permutation) in [
                ([2, 3, 4, 5], [0, 2, 1, 3]), ([2, 3, 4, 5], [0, 2, 3, 1]), ([2, 3, 4, 5], [3, 2, 1, 0]), ([5, 7], [1, 0]), ([1, 7, 1], [2, 1, 0]),
                ([2, 0, 3], [1, 2, 0]), ([3, 40, 50], [0, 2, 1]), ([2, 3, 4, 5], [0, 1, 3, 2]),
            ] { try check(Transpose(permutation: permutation), [try random.tensor(dtype, shape)], tolerance: 0) }

            let x = try random.tensor(dtype, [4, 6, 5])
            func vector(_ values: [Int64]) throws -> Tensor { try Tensor(integers: values, shape: [values.count]) }
            for (axes, starts, ends, steps) in [
                ([0], [1], [3], [1]), ([1, 2], [-3, 0], [.max, 4], [1, 2]), ([0, 1], [-1, 5], [.min, 0], [-1, -2]), ([2], [3], [3], [1]),
                ([0], [0], [1], [.max]), ([0], [0], [4], [3]),
            ] as [([Int], [Int64], [Int64], [Int64])] {
                let operands = [x, try vector(starts), try vector(ends), try vector(steps)]
                try check(Slice(axes: axes), operands, constants: [1, 2, 3], tolerance: 0)
            }
            for (from, to) in [([1, 3], [4, 3]), ([3, 1], [3, 5]), ([], [2, 2]), ([2, 1, 3], [2, 4, 1]), ([1], [0]), ([3], [3])] {
                try check(Expand(), [try random.tensor(dtype, from), try vector(to.map(Int64.init))], constants: [1], tolerance: 0)
            }
            for axis in 0..<3 {
                var shapes = [[2, 3, 4], [2, 3, 4], [2, 3, 4]]
                shapes[1][axis] = 0
                shapes[2][axis] = 7
                try check(Concat(axis: axis), try shapes.map { try random.tensor(dtype, $0) }, tolerance: 0)
                try check(Concat(axis: axis), [try random.tensor(dtype, shapes[1]), try random.tensor(dtype, shapes[2])], tolerance: 0)
            }
            try check(Reshape(), [x, try vector([-1, 8])], constants: [1], tolerance: 0)
        }
    }

    @Test func gather() throws {
        var random = SeededRandom(seed: 12)
        for (shape, axis, indices) in [([9, 5], 0, [2, 3]), ([4, 9, 3], 1, []), ([4, 9], -1, [5]), ([9], 0, [0]), ([9, 0], 0, [2])] {
            for dtype: DType in [.i64, .i32] {
                let x = try random.tensor(.f32, shape)
                let positive = try random.indices(below: 9, indices, dtype: dtype)
                let negative = try Binary(.sub).evaluate(Inputs([positive, try Tensor(integers: [9], dtype: dtype, shape: [])]))[0]
                try check(Gather(axis: axis), [x, positive], tolerance: 0)
                try check(Gather(axis: axis), [x, negative], tolerance: 0)
            }
        }
    }

    @Test func reduce() throws {
        var random = SeededRandom(seed: 13)
        for shape in [[3, 4, 5], [1, 1, 1], [2, 300, 70], [0, 4, 5]] {
            let x = try random.tensor(.f32, shape)
            for axes in [[0], [1], [2], [1, 2], [0, 1, 2], [-1]] where shape[0] > 0 || !axes.contains(0) {
                for kind: Reduce.Kind in [.sum, .mean, .max, .min] {
                    for keepDims in [true, false] { try check(Reduce(kind, axes: axes, keepDims: keepDims), [x], tolerance: 2e-5) }
                }
            }
            try check(Reduce(.l2, axes: [2], keepDims: true), [x], tolerance: 1e-5)
            try check(Reduce(.sum, axes: [0, 2], keepDims: true), [x], tolerance: 1e-5, isFast: false)
            try check(Reduce(.argmax, axes: [2], keepDims: false), [x], tolerance: 0, isFast: false)
        }
        try check(Reduce(.sum, axes: [0], keepDims: false), [try random.tensor(.f32, [0, 3])], isFast: false)
    }

    @Test func quantization() throws {
        var random = SeededRandom(seed: 14)
        for dtype: DType in [.i8, .u8] {
            let x = try random.tensor(dtype, [6, 5, 4])
            let scalar = try Tensor(floats: [0.25], shape: [])
            try check(Dequantize(), [x, scalar], tolerance: 0)
            try check(Dequantize(), [x, scalar, try random.tensor(dtype, [], positive: true)], tolerance: 0)
            for axis in 0..<3 {
                let scale = try random.tensor(.f32, [x.shape[axis]], positive: true)
                let zero = try random.tensor(dtype, [x.shape[axis]], positive: true)
                try check(Dequantize(axis: axis), [x, scale, zero], tolerance: 0)
                try check(Dequantize(axis: axis - 3), [x, scale], tolerance: 0)
            }
        }
        for dtype: DType in [.i8, .u8] {
            let x = try Tensor(floats: [0.4, -0.6, 1.25, 0.75, 1e9, -1e9, .infinity, 0, 2.5, 3.5], shape: [2, 5])
            let scale = try Tensor(floats: [0.5], shape: [])
            try check(Quantize(to: dtype), [x, scale], tolerance: 0)
            try check(Quantize(to: dtype), [x, scale, try Tensor(integers: [7], dtype: dtype, shape: [])], tolerance: 0)
            try check(Quantize(to: dtype), [try random.tensor(.f32, [70, 300]), scale], tolerance: 0)
            try check(Quantize(to: dtype), [x, try Tensor(floats: [1, 2, 3, 4, 5], shape: [5])], tolerance: 0, isFast: false)
        }
        for shape in [[3, 7], [1], [1000]] { try check(DynamicQuantize(), [try random.tensor(.f32, shape)], tolerance: 0) }
        try check(DynamicQuantize(), [try Tensor(floats: [0, 0, 0], shape: [3])], tolerance: 0)
    }

    /// The reference also works in f32 and rounds once; the two may round a near tie differently.
    @Test func halfPrecision() throws {
        var random = SeededRandom(seed: 15)
        for (dtype, ulp) in [(DType.f16, 1e-3), (.bf16, 1e-2)] {
            func tensor(_ shape: [Int]) throws -> Tensor { try random.tensor(dtype, shape) }
            let x = try tensor([3, 5, 32])
            try check(
                Linear(layout: .output_input, activation: .gelu), [x, try tensor([16, 32]), try tensor([16]), nil], constants: [1, 2],
                tolerance: ulp)
            try check(Linear(layout: .input_output), [x, try tensor([32, 16])], tolerance: ulp)
            try check(MatMul(transposeB: true), [x, try tensor([3, 7, 32])], tolerance: ulp)
            try check(LayerNorm(epsilon: 1e-5), [x, try tensor([32]), try tensor([32]), x], constants: [1, 2], tolerance: ulp)
            try check(Softmax(axis: -1), [x], tolerance: ulp)
            try check(Unary(.tanh), [x], tolerance: ulp)
            try check(Binary(.add), [x, try tensor([32])], tolerance: ulp)
            try check(Compare(.less), [x, try tensor([32])], tolerance: 0)
            try check(Cast(to: .i64), [x], tolerance: 0)
            try check(Reduce(.mean, axes: [1], keepDims: true), [x], tolerance: ulp)
            let heads = try tensor([1, 2, 6, 8])
            try check(
                ScaledDotProductAttention(scale: 0.3), [heads, heads, heads, try random.tensor(.bool, [1, 1, 1, 6])], tolerance: ulp)
        }
    }

    @Test func quantizeRows() throws {
        var random = SeededRandom(seed: 71)
        for shape in [[5], [3, 7], [2, 40, 130], [0, 4]] { try check(QuantizeRows(), [try random.tensor(.f32, shape)], tolerance: 0) }
        let odd = try Tensor(floats: [0, 0, 0, 1, .nan, 2, 1, -.infinity, 2, .leastNonzeroMagnitude, -.leastNonzeroMagnitude, 0, 3e38, -1, 0], shape: [5, 3])
        try check(QuantizeRows(), [odd], tolerance: 0)
    }

    @Test(arguments: [1, 2, 17, 40, 400], [1, 16, 130])
    func quantizedLinear(m: Int, n: Int) throws {
        var random = SeededRandom(seed: UInt64(m * 1000 + n))
        func bytes(_ dtype: DType, _ shape: [Int]) throws -> Tensor {
            let range: ClosedRange<Int64> = dtype == .u8 ? 0...255 : -128...127
            return try Tensor(integers: (0..<shape.reduce(1, *)).map { _ in Int64.random(in: range, using: &random) }, dtype: dtype, shape: shape)
        }
        for (k, dtype, activation) in [(7, DType.u8, Activation.none), (64, .i8, .gelu), (530, .i8, .tanh)] {
            let x = try bytes(dtype, [m, k])
            let weight = try bytes(.i8, [n, k])
            let scale = try Tensor(floats: (0..<n).map { _ in Float.random(in: 1e-4...1e-3, using: &random) }, shape: [n])
            let rowScale = try Tensor(floats: (0..<m).map { _ in Float.random(in: 1e-3...1e-2, using: &random) }, shape: [m, 1])
            let bias = try random.tensor(.f32, [n])
            let residual = try random.tensor(.f32, [m, n])
            let op = QuantizedLinear(activation: activation)
            try check(op, [x, rowScale, nil, weight, scale], constants: [3, 4])
            try check(op, [x, rowScale, try bytes(dtype, [m, 1]), weight, scale], constants: [3, 4])
            try check(
                op, [x, try Tensor(floats: [0.01], shape: []), try bytes(dtype, []), weight, scale, try bytes(.i8, [n]), bias, residual],
                constants: [3, 4, 5, 6])
            if let panels = try QuantizedLinear.pack(weight) {
                try check(op, [x, rowScale, nil, panels, scale, nil, bias], constants: [3, 4, 6])
            }
        }
    }
}
