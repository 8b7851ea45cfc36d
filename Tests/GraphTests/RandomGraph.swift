import GraphIR
import Operators
import TestSupport
import Tensors

/// Random but valid graphs that use many operators, odd names, shared values and all kinds of constants.
struct RandomGraph {
    private var random: SeededRandom
    private var builder: GraphBuilder
    /// Values of type f32 `[batch, sequence, 8]`.
    private var pool: [ValueID] = []

    static func make(seed: UInt64, nodes: Int = 30) throws -> Graph {
        var maker = RandomGraph(random: SeededRandom(seed: seed), builder: GraphBuilder(name: "random \"\(seed)\"\n\u{E9}"))
        return try maker.graph(nodes: nodes)
    }

    private init(random: SeededRandom, builder: GraphBuilder) {
        self.random = random
        self.builder = builder
    }

    private mutating func name() -> String {
        random.element(of: ["x", "/encoder/layer.0/MatMul_output_0", "461", "a b", "\"quoted\\\"", "%", "é", "\n", "", "_", "x:0", "日本"])
    }

    private mutating func floats(_ shape: [Int], dtype: DType = .f32) throws -> Tensor {
        let odd: [Float] = [.nan, .infinity, -.infinity, -0.0, .leastNonzeroMagnitude, .greatestFiniteMagnitude, 1e-12, 0.1]
        let count = try Shape.count(shape)
        return try Tensor(floats: (0..<count).map { _ in random.int(0..<8) == 0 ? random.element(of: odd) : random.float() }, dtype: dtype, shape: shape)
    }

    private mutating func graph(nodes: Int) throws -> Graph {
        let dims: [Dim] = [.symbol("batch"), .symbol("sequence"), 8]
        pool.append(builder.input("x", TensorType(.f32, dims)))
        let ids = builder.input("input ids", TensorType(.i64, [.symbol("batch"), .symbol("sequence")]))
        let mask = builder.input("mask", TensorType(.i64, [.symbol("batch"), .symbol("sequence")]), default: .ones)
        _ = builder.input("odd", TensorType(.bool, [.symbol("a`b\\\n"), try .symbol("batch") * 2 + 1]))
        _ = builder.input("types", TensorType(.i32, [.symbol("sequence")]), default: .zeros)
        let table = builder.constant(try floats([128, 8]), name: "embeddings.word_embeddings.weight")
        pool.append(try builder.apply(Gather(axis: 0), table, ids, name: "embed"))
        let condition = try builder.apply(ExpandDims(axes: [2]), try builder.apply(Cast(to: .bool), mask))
        for _ in 0..<nodes {
            let a = random.element(of: pool)
            let b = random.element(of: pool)
            let node = name()
            switch random.int(0..<17) {
            case 0: pool.append(try builder.apply(Binary(random.element(of: [.add, .sub, .mul, .max])), a, b, name: node, output: name()))
            case 1: pool.append(try builder.apply(Unary(random.element(of: [.gelu, .tanh, .neg, .relu])), a, name: node))
            case 2:
                let weight = builder.constant(try floats([8, 8]), name: name())
                let bias = builder.constant(try floats([8]))
                let op = Linear(layout: random.element(of: [.input_output, .output_input]), activation: random.element(of: Activation.allCases))
                pool.append(try builder.apply(op, a, weight, random.bool() ? bias : nil, random.bool() ? b : nil, name: node))
            case 3:
                let scale = builder.constant(try floats([8]), name: "norm")
                pool.append(try builder.apply(LayerNorm(epsilon: abs(random.float())), a, scale, nil, b, name: node, output: name()))
            case 4: pool.append(try builder.apply(Softmax(axis: random.element(of: [-1, 2, 1])), a, name: node))
            case 5: pool.append(try builder.apply(Select(), condition, a, b, name: node))
            case 6:
                let shape = try builder.apply(ShapeOf(), a)
                pool.append(try builder.apply(Reshape(), b, shape, name: node))
            case 7:
                let swapped = try builder.apply(Transpose(permutation: [0, 2, 1]), a)
                pool.append(try builder.apply(Transpose(permutation: [0, 2, 1]), swapped, name: node))
            case 8: pool.append(try builder.apply(Binary(.mul), a, builder.scalar(Double(random.float()), .f32), name: node))
            case 9:
                let half = try builder.apply(Cast(to: random.element(of: [.f16, .bf16, .f64])), a, name: node)
                let constant = builder.constant(try floats([8], dtype: builder.type(half).dtype))
                pool.append(try builder.apply(Cast(to: .f32), try builder.apply(Binary(.add), half, constant)))
            case 10:
                let starts = try builder.integers([0])
                let ends = try builder.integers([.max])
                pool.append(try builder.apply(Slice(axes: [1]), a, starts, ends, random.bool() ? builder.integers([1]) : nil, name: node))
            case 11: pool.append(try spelledGelu(a))
            case 12: pool.append(try builder.apply(Binary(.mul), a, try builder.apply(Unary(.sigmoid), a)))
            case 13: pool.append(try spelledNorm(a, takesMeanOff: random.bool(), sharesSum: random.bool()))
            case 14:
                let weight = try builder.apply(
                    Dequantize(axis: random.int(0..<2)), builder.constant(Tensor(integers: (0..<64).map { _ in Int64(random.int(-128..<128)) }, dtype: .i8, shape: [8, 8])),
                    builder.constant(Tensor(floats: (0..<8).map { _ in random.float() * 0.02 }, shape: [8])))
                pool.append(try builder.apply(MatMul(transposeB: random.bool()), a, weight, name: node))
            case 15:
                let heads = try builder.apply(Transpose(permutation: [0, 2, 1]), b)
                let scores = try builder.apply(MatMul(), a, heads)
                pool.append(try builder.apply(MatMul(), try builder.apply(Softmax(axis: -1), scores), b, name: node))
            default:
                let mean = try builder.apply(Reduce(.mean, axes: [-1], keepDims: true), a)
                pool.append(try builder.apply(Binary(.sub), a, mean, name: node))
            }
        }
        builder.output("last hidden \"state\"", try builder.apply(Binary(.add), pool[pool.count - 1], random.element(of: pool)))
        builder.output("ids", ids)
        builder.output("table", table)
        return builder.graph
    }

    private mutating func spelledGelu(_ x: ValueID) throws -> ValueID {
        let error = try builder.apply(Unary(.erf), builder.apply(Binary(.div), x, builder.scalar(2.0.squareRoot(), .f32)))
        let sum = try builder.apply(Binary(.add), error, builder.scalar(1, .f32))
        if random.bool() { pool.append(error) }
        return try builder.apply(Binary(.mul), builder.apply(Binary(.mul), x, sum), builder.scalar(0.5, .f32))
    }

    /// layer_norm or rms_norm in arithmetic; `sharesSum`: an inner value serves others too.
    private mutating func spelledNorm(_ x: ValueID, takesMeanOff: Bool, sharesSum: Bool) throws -> ValueID {
        func mean(_ value: ValueID) throws -> ValueID { try builder.apply(Reduce(.mean, axes: [-1], keepDims: true), value) }
        let centred = takesMeanOff ? try builder.apply(Binary(.sub), x, mean(x)) : x
        let square = try builder.apply(Binary(.mul), centred, centred)
        let sum = try builder.apply(Binary(.add), mean(square), builder.scalar(1e-5, .f32))
        if sharesSum { pool.append(square) }
        return try builder.apply(Binary(.div), centred, builder.apply(Unary(.sqrt), sum))
    }
}
