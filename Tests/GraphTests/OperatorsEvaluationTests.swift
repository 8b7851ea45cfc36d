import GraphIR
import Tensors
import Testing

@testable import Operators

/// Values worked out by hand or with numpy; the ugly cases of each operator.
@Suite struct OperatorsEvaluationTests {
    private func floats(_ values: [Float], _ shape: [Int]? = nil, _ dtype: DType = .f32) throws -> Tensor {
        try Tensor(floats: values, dtype: dtype, shape: shape ?? [values.count])
    }

    private func integers(_ values: [Int64], _ shape: [Int]? = nil, _ dtype: DType = .i64) throws -> Tensor {
        try Tensor(integers: values, dtype: dtype, shape: shape ?? [values.count])
    }

    private func run(_ op: some GraphIR.Operator, _ inputs: Tensor?...) throws -> Tensor {
        let outputs = try op.evaluate(Inputs(inputs))
        return try #require(outputs.first)
    }

    /// Equal, NaN to NaN, to a relative difference.
    private func expectClose(_ actual: Tensor, _ expected: [Float], _ tolerance: Float = 1e-6, sourceLocation: SourceLocation = #_sourceLocation) {
        let values = actual.floats()
        #expect(values.count == expected.count, sourceLocation: sourceLocation)
        for (a, b) in zip(values, expected) {
            let isClose = a == b || a.isNaN && b.isNaN || abs(a - b) <= tolerance * max(1, abs(b))
            #expect(isClose, "\(values) against \(expected)", sourceLocation: sourceLocation)
        }
    }

    @Test func unaryFunctionsOfSpecialValues() throws {
        let x = try floats([-.infinity, -1, -0.0, 0.5, 2, .infinity, .nan])
        expectClose(try run(Unary(.sign), x), [-1, -1, 0, 1, 1, 1, .nan])
        expectClose(try run(Unary(.relu), x), [0, 0, 0, 0.5, 2, .infinity, .nan])
        expectClose(try run(Unary(.sigmoid), x), [0, 0.26894143, 0.5, 0.62245935, 0.8807971, 1, .nan])
        expectClose(try run(Unary(.erf), x), [-1, -0.8427008, 0, 0.5204999, 0.9953223, 1, .nan])
        expectClose(try run(Unary(.gelu), x), [.nan, -0.15865525, 0, 0.3457312, 1.9544997, .infinity, .nan])
        expectClose(try run(Unary(.gelu_tanh), x), [.nan, -0.158808, 0, 0.345714, 1.9545977, .infinity, .nan])
        expectClose(try run(Unary(.softplus), x), [0, 0.3132617, 0.6931472, 0.974077, 2.126928, .infinity, .nan])
        expectClose(try run(Unary(.rsqrt), x), [.nan, .nan, -.infinity, 1.4142135, 0.70710677, 0, .nan])
        expectClose(try run(Unary(.round), floats([0.5, 1.5, 2.5, -0.5, -1.5])), [0, 2, 2, 0, -2])
        #expect(try run(Unary(.is_nan), x).integers() == [0, 0, 0, 0, 0, 0, 1])
        #expect(try run(Unary(.is_inf), x).integers() == [1, 0, 0, 0, 0, 1, 0])
        // Far out: no overflow on the way.
        expectClose(try run(Unary(.softplus), floats([-1000, 1000])), [0, 1000])
        expectClose(try run(Unary(.sigmoid), floats([-1000, 1000])), [0, 1])
    }

    @Test func unaryIntegersWrap() throws {
        #expect(try run(Unary(.abs), integers([-128, -1, 127], nil, .i8)).integers() == [-128, 1, 127])
        #expect(try run(Unary(.neg), integers([1, 0], nil, .u8)).integers() == [255, 0])
        #expect(try run(Unary(.neg), integers([.min])).integers() == [.min])
        #expect(try run(Unary(.sign), integers([-1, 0, 5], nil, .u64)).integers() == [1, 0, 1])
        #expect(try run(Unary(.not), Tensor(bools: [true, false], shape: [2])).integers() == [0, 1])
    }

    @Test func integerDivisionNeverTraps() throws {
        let x = try integers([.min, -7, 7], nil)
        #expect(try run(Binary(.div), x, integers([-1, 2, -2])).integers() == [.min, -3, -3])
        #expect(try run(Binary(.mod), x, integers([-1, 2, -2])).integers() == [0, 1, -1])
        #expect(try run(Binary(.fmod), x, integers([-1, 2, -2])).integers() == [0, -1, 1])
        for kind in [Binary.Kind.div, .mod, .fmod] {
            #expect(throws: OperatorError.self) { try run(Binary(kind), x, integers([1, 0, 1])) }
        }
        // The upper half of u64 is large, not negative.
        let large = try integers([-1, 1], nil, .u64)
        #expect(try run(Binary(.div), large, integers([2, 2], nil, .u64)).integers() == [.max, 0])
        #expect(try run(Binary(.max), large, integers([2, 2], nil, .u64)).integers() == [-1, 2])
        #expect(try run(Compare(.less), large, integers([2, 2], nil, .u64)).integers() == [0, 1])
        #expect(try run(Binary(.add), integers([127], nil, .i8), integers([1], nil, .i8)).integers() == [-128])
    }

    @Test func floatsPropagateNaN() throws {
        let a = try floats([1, .nan, 2, -0.0])
        let b = try floats([.nan, 1, 1, 0])
        expectClose(try run(Binary(.max), a, b), [.nan, .nan, 2, 0])
        expectClose(try run(Binary(.min), a, b), [.nan, .nan, 1, 0])
        #expect(try run(Compare(.equal), a, b).integers() == [0, 0, 0, 1])
        #expect(try run(Compare(.not_equal), a, b).integers() == [1, 1, 1, 0])
        #expect(try run(Compare(.less_equal), a, b).integers() == [0, 0, 0, 1])
        expectClose(try run(Binary(.mod), floats([-5.5, 5.5, 4]), floats([2, -2, 0])), [0.5, -0.5, .nan])
        expectClose(try run(Binary(.fmod), floats([-5.5, 5.5]), floats([2, -2])), [-1.5, 1.5])
    }

    @Test func power() throws {
        #expect(try run(Binary(.pow), integers([2, -3, 10, 2, 2]), integers([10, 3, 0, 63, 64])).integers() == [1024, -27, 1, .min, 0])
        #expect(try run(Binary(.pow), integers([2, 1, -1]), integers([-1, -5, -3])).integers() == [0, 1, -1])
        expectClose(try run(Binary(.pow), floats([2, -8, 9]), floats([3, 2, 0.5])), [8, 64, 3])
        expectClose(try run(Binary(.pow), floats([2, 3]), integers([3, -1])), [8, 1 / 3])
    }

    @Test func broadcasting() throws {
        let column = try integers([10, 20], [2, 1])
        let row = try integers([1, 2, 3])
        #expect(try run(Binary(.add), column, row).integers() == [11, 12, 13, 21, 22, 23])
        #expect(try run(Binary(.sub), integers([5], []), column).shape == [2, 1])
        let empty = try integers([], [0, 3])
        #expect(try run(Binary(.mul), empty, row).shape == [0, 3])
        #expect(throws: OperatorError.self) { try run(Binary(.add), row, integers([1, 2])) }
        let chosen = try run(Select(), Tensor(bools: [true, false], shape: [2, 1]), row, integers([0], []))
        #expect(chosen.integers() == [1, 2, 3, 0, 0, 0])
    }

    @Test func halfPrecisionRoundsOnce() throws {
        // 2048 + 1 has no f16; the sum of three goes through f32 element by element.
        let x = try floats([2048, 1], nil, .f16)
        #expect(try run(Binary(.add), x, floats([1, 1], nil, .f16)).floats() == [2048, 2])
        // A linear layer rounds after bias and residual, not between.
        let one = try floats([1], [1, 1], .f16)
        let result = try run(Linear(layout: .input_output), floats([2048], [1, 1], .f16), one, floats([1], [1], .f16), floats([1], [1, 1], .f16))
        #expect(result.floats() == [2050])
        #expect(result.dtype == .f16)
    }

    @Test func matrixProducts() throws {
        let a = try floats([1, 2, 3, 4, 5, 6], [2, 3])
        let b = try floats([1, 0, 2, 1, 0, 3], [3, 2])
        #expect(try run(MatMul(), a, b).floats() == [5, 11, 14, 23])
        let stacked = try run(MatMul(), a.reshaped([2, 1, 3]), floats([1, 1, 1, 2, 2, 2], [2, 3, 1]))
        #expect(stacked.floats() == [6, 30])
        #expect(try run(MatMul(transposeA: true, transposeB: true), b, a).floats() == [5, 14, 11, 23])
        // An inner dimension of zero sums nothing.
        #expect(try run(MatMul(), floats([], [2, 0]), floats([], [0, 2])).floats() == [0, 0, 0, 0])
        #expect(try run(MatMul(), integers([.max, 2], [1, 2]), integers([2, 1], [2, 1])).integers() == [0])
        let gelu = try run(Linear(layout: .output_input, activation: .relu), a, floats([1, 0, 0, -1, 0, 0], [2, 3]), floats([0.5, 0.5]), floats([1, 1, 1, 1], [2, 2]))
        #expect(gelu.floats() == [2.5, 1, 5.5, 1])
        let product = try run(
            MatMulInteger(), integers([11, 7, 3, 10, 6, 2, 9, 5, 1, 8, 4, 0], [4, 3], .u8), integers([1, 4, 2, 5, 3, 6], [3, 2], .u8),
            integers([12], nil, .u8), integers([0], nil, .u8))
        #expect(product.integers() == [-38, -83, -44, -98, -50, -113, -56, -128])
    }

    @Test func reductions() throws {
        let x = try floats([1, 5, .nan, 2, 5, 5], [2, 3])
        expectClose(try run(Reduce(.max, axes: [1], keepDims: false), x), [.nan, 5])
        #expect(try run(Reduce(.argmax, axes: [1], keepDims: false), x).integers() == [2, 1])
        #expect(try run(Reduce(.argmin, axes: [0], keepDims: true), x).integers() == [0, 0, 0])
        expectClose(try run(Reduce(.mean, axes: [0], keepDims: false), x), [1.5, 5, .nan])
        expectClose(try run(Reduce(.logSumExp, axes: [0], keepDims: false), floats([1000, 1000])), [1000.6931])
        expectClose(try run(Reduce(.logSumExp, axes: [0], keepDims: false), floats([-.infinity, -.infinity])), [-.infinity])
        let empty = try floats([], [2, 0])
        expectClose(try run(Reduce(.sum, axes: [1], keepDims: false), empty), [0, 0])
        expectClose(try run(Reduce(.max, axes: [1], keepDims: false), empty), [-.infinity, -.infinity])
        expectClose(try run(Reduce(.mean, axes: [1], keepDims: false), empty), [.nan, .nan])
        #expect(throws: OperatorError.self) { try run(Reduce(.argmax, axes: [1], keepDims: false), empty) }
        #expect(throws: OperatorError.self) { try run(Reduce(.mean, axes: [0], keepDims: false), integers([])) }
        #expect(try run(Reduce(.min, axes: [0], keepDims: false), integers([], nil, .i8)).integers() == [127])
        #expect(try run(Reduce(.mean, axes: [0], keepDims: false), integers([-3, -4], nil, .i32)).integers() == [-3])
        #expect(try run(Reduce(.sum, axes: [], keepDims: false), integers([1, 2])).integers() == [1, 2])
        expectClose(try run(Reduce(.l2, axes: [0, -1], keepDims: true), floats([1, 2, 4, 2], [2, 2])), [5])
    }

    @Test func softmaxAndNorms() throws {
        expectClose(try run(Softmax(axis: 0), floats([1000, 1000, -1000])), [0.5, 0.5, 0])
        expectClose(try run(Softmax(axis: 0), floats([-.infinity, -.infinity])), [.nan, .nan])
        expectClose(try run(Softmax(axis: 0), floats([0, 1, 0, 1], [2, 2])), [0.5, 0.5, 0.5, 0.5])
        expectClose(try run(Softmax(.log_softmax, axis: -1), floats([0, 0])), [-0.6931472, -0.6931472])
        let x = try floats([1, 2, 3, 4])
        expectClose(try run(LayerNorm(epsilon: 0), x, floats([1, 1, 1, 2]), floats([0, 0, 0, 1])), [-1.3416408, -0.4472136, 0.4472136, 3.6832816])
        expectClose(try run(LayerNorm(epsilon: 0), floats([0, 1, 1, 2]), nil, nil, floats([1, 1, 2, 2])), [-1.3416408, -0.4472136, 0.4472136, 1.3416408])
        expectClose(try run(RMSNorm(epsilon: 0), x, nil), [0.36514837, 0.73029674, 1.0954452, 1.4605935])
    }

    @Test func attention() throws {
        // Two query heads on one key head; widths of 1, so scores are products.
        let q = try floats([0, 0, 1, 1], [1, 2, 2, 1])
        let k = try floats([0, 0], [1, 1, 2, 1])
        let v = try floats([2, 4], [1, 1, 2, 1])
        expectClose(try run(ScaledDotProductAttention(scale: 1), q, k, v), [3, 3, 3, 3])
        expectClose(try run(ScaledDotProductAttention(scale: 1, isCausal: true), q, k, v), [2, 3, 2, 3])
        let mask = try Tensor(bools: [true, false, false, false], shape: [2, 2])
        expectClose(try run(ScaledDotProductAttention(scale: 1), q, k, v, mask), [2, .nan, 2, .nan])
        expectClose(try run(ScaledDotProductAttention(scale: 1, emptyRowsAreZero: true), q, k, v, mask), [2, 0, 2, 0])
        let bias = try floats([0, 1.0986123], [1, 1, 1, 2])
        expectClose(try run(ScaledDotProductAttention(scale: 1), q, k, v, bias), [3.5, 3.5, 3.5, 3.5])
        // The legacy mask is finite: a row of it attends evenly.
        expectClose(try run(ScaledDotProductAttention(scale: 1), q, k, v, floats([-10000, -10000], [1, 2])), [3, 3, 3, 3])
        let none = try run(ScaledDotProductAttention(scale: 1), q, floats([], [1, 1, 0, 1]), floats([], [1, 1, 0, 1]))
        #expect(none.floats() == [0, 0, 0, 0])
    }

    @Test func indexing() throws {
        let x = try integers([0, 1, 2, 3, 4, 5], [3, 2], .i8)
        #expect(try run(Gather(axis: 0), x, integers([-1, 0])).integers() == [4, 5, 0, 1])
        #expect(try run(Gather(axis: 1), x, integers([1], [])).integers() == [1, 3, 5])
        #expect(throws: OperatorError.self) { try run(Gather(axis: 0), x, integers([3])) }
        #expect(throws: OperatorError.self) { try run(Gather(axis: 0), x, integers([.min])) }
        #expect(try run(GatherElements(axis: 0), x, integers([2, -3], [1, 2])).integers() == [4, 1])
        #expect(throws: OperatorError.self) { try run(GatherElements(axis: 0), x, integers([0, 0, 0], [1, 3])) }
        #expect(try run(GatherND(), x, integers([1, 1, -1, 0], [2, 2])).integers() == [3, 4])
        #expect(try run(GatherND(batchDims: 1), x, integers([1, 0, 1], [3, 1])).integers() == [1, 2, 5])
        #expect(throws: OperatorError.self) { try run(GatherND(), x, integers([0, 2], [1, 2])) }
        #expect(try run(ScatterND(), x, integers([-1], [1, 1]), integers([9, 8], [1, 2], .i8)).integers() == [0, 1, 2, 3, 9, 8])
        #expect(throws: OperatorError.self) { try run(ScatterND(), x, integers([3], [1, 1]), integers([9, 8], [1, 2], .i8)) }
    }

    @Test func movingElements() throws {
        let x = try integers([0, 1, 2, 3, 4, 5], [2, 3], .i16)
        #expect(try run(Transpose(permutation: [1, 0]), x).integers() == [0, 3, 1, 4, 2, 5])
        #expect(try run(Concat(axis: 1), x, integers([7, 8], [2, 1], .i16)).integers() == [0, 1, 2, 7, 3, 4, 5, 8])
        #expect(try run(Concat(axis: 0), integers([], [0, 3], .i16), x).integers() == [0, 1, 2, 3, 4, 5])
        #expect(try run(Slice(axes: [1]), x, integers([-1]), integers([.min]), integers([-2])).integers() == [2, 0, 5, 3])
        #expect(try run(Slice(axes: [1]), x, integers([.max]), integers([.min]), integers([.min])).integers() == [2, 5])
        #expect(try run(Slice(axes: [0, 1]), x, integers([1, 0]), integers([.max, 2])).integers() == [3, 4])
        #expect(try run(Slice(axes: [0]), x, integers([5]), integers([9])).shape == [0, 3])
        #expect(throws: OperatorError.self) { try run(Slice(axes: [0]), x, integers([0]), integers([1]), integers([0])) }
        #expect(try run(Expand(), integers([1, 2], [2, 1]), integers([3, 1, 2])).integers() == [1, 1, 2, 2, 1, 1, 2, 2, 1, 1, 2, 2])
        #expect(try run(Tile(), integers([1, 2], [1, 2]), integers([2, 2])).integers() == [1, 2, 1, 2, 1, 2, 1, 2])
        #expect(try run(Reshape(zeroCopies: true), x, integers([0, -1, 1])).shape == [2, 3, 1])
        #expect(throws: OperatorError.self) { try run(Reshape(), x, integers([4, -1])) }
        #expect(try run(Trilu(isUpper: true), x, integers([1], [])).integers() == [0, 1, 2, 0, 0, 5])
        #expect(try run(Trilu(isUpper: false), x, integers([.min], [])).integers() == [0, 0, 0, 0, 0, 0])
        #expect(try run(CumSum(axis: 1, isExclusive: true, isReverse: true), x).integers() == [3, 2, 0, 9, 5, 0])
    }

    @Test func padding() throws {
        let x = try integers([1, 2, 3])
        #expect(try run(Pad(), x, integers([1, 2]), integers([9], [])).integers() == [9, 1, 2, 3, 9, 9])
        #expect(try run(Pad(), x, integers([-1, 1])).integers() == [2, 3, 0])
        #expect(try run(Pad(mode: .reflect), x, integers([2, 2])).integers() == [3, 2, 1, 2, 3, 2, 1])
        #expect(try run(Pad(mode: .edge), x, integers([1, 2])).integers() == [1, 1, 2, 3, 3, 3])
        #expect(try run(Pad(mode: .wrap), x, integers([1, 2])).integers() == [3, 1, 2, 3, 1, 2])
        #expect(throws: OperatorError.self) { try run(Pad(), x, integers([-2, -2])) }
        #expect(throws: (any Error).self) { try run(Pad(), x, integers([.max, .max])) }
        #expect(throws: (any Error).self) { try run(Pad(), x, integers([.min, .max])) }
        #expect(throws: OperatorError.self) { try run(Pad(), x, integers([1 << 40, 0])) }
    }

    @Test func generating() throws {
        #expect(try run(Arange(), integers([5], []), integers([-1], []), integers([-2], [])).integers() == [5, 3, 1])
        #expect(try run(Arange(), floats([0], []), floats([1], []), floats([0.25], [])).floats() == [0, 0.25, 0.5, 0.75])
        #expect(throws: OperatorError.self) { try run(Arange(), integers([0], []), integers([1 << 50], []), integers([1], [])) }
        #expect(throws: OperatorError.self) { try run(Arange(), floats([0], []), floats([.nan], []), floats([1], [])) }
        #expect(throws: (any Error).self) { try run(Arange(), integers([.min], []), integers([.max], []), integers([1], [])) }
        #expect(try run(Fill(), integers([2, 1]), floats([7], [], .f16)).floats() == [7, 7])
        #expect(throws: OperatorError.self) { try run(Fill(), integers([1 << 40]), integers([0], [], .u8)) }
        #expect(throws: (any Error).self) { try run(Fill(), integers([1 << 40, 1 << 40]), integers([0], [], .u8)) }
        #expect(try run(ShapeOf(start: -2), floats([], [2, 0, 3])).integers() == [0, 3])
        #expect(try run(Dims([2, 3])).integers() == [2, 3])
        #expect(throws: OperatorError.self) { try run(Dims([.symbol("batch")])) }
    }

    @Test func casting() throws {
        #expect(try run(Cast(to: .i64), floats([2.9, -2.9, .nan, .infinity])).integers() == [2, -2, 0, .max])
        #expect(try run(Cast(to: .bool), floats([0, -0.0, 0.1, .nan])).integers() == [0, 0, 1, 1])
        #expect(try run(Cast(to: .u8), integers([-1, 256, 3])).integers() == [255, 0, 3])
        #expect(try run(Cast(to: .f32), integers([-1], nil, .u64)).floats() == [0x1p64])
    }

    @Test func quantisation() throws {
        let x = try floats([-1, 0.5, 1.5, 300, -.infinity, .nan])
        #expect(try run(Quantize(to: .u8), x, floats([1], []), integers([1], [], .u8)).integers() == [0, 1, 3, 255, 0, 1])
        #expect(try run(Quantize(to: .i8), x, floats([0.5], [])).integers() == [-2, 1, 3, 127, -128, 0])
        let columns = try run(Quantize(to: .i8, axis: 0), floats([1, 2, 3, 4], [2, 2]), floats([1, 2]), integers([0, 1], nil, .i8))
        #expect(columns.integers() == [1, 2, 3, 3])
        #expect(try run(Dequantize(axis: 0), columns, floats([1, 2]), integers([0, 1], nil, .i8)).floats() == [1, 2, 4, 4])
        #expect(try run(Dequantize(), integers([.init(Int32.min)], nil, .i32), floats([1], [])).floats() == [-0x1p31])
        // The examples of the ONNX specification of DynamicQuantizeLinear.
        let results = try DynamicQuantize().evaluate(Inputs([floats([0, 2, -3, -2.5, 1.34, 0.5])]))
        #expect(results[0].integers() == [153, 255, 0, 26, 221, 179])
        #expect(results[1].floats() == [0.019607844])
        #expect(results[2].integers() == [153])
        let positive = try DynamicQuantize().evaluate(Inputs([floats([1, 2.1, 1.3, 2.5, 3.34, 4])]))
        #expect(positive[0].integers() == [64, 134, 83, 159, 213, 255])
        let zero = try DynamicQuantize().evaluate(Inputs([floats([0, 0])]))
        #expect(zero[0].integers() == [0, 0] && zero[1].floats() == [1])
    }
}
