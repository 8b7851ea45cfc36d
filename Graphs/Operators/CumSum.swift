import GraphIR
import Tensors

/// Running sums along an axis.
public struct CumSum: Operator {
    public let axis: Int
    /// Each sum leaves out its own element.
    public let isExclusive: Bool
    /// From the end.
    public let isReverse: Bool

    public init(axis: Int, isExclusive: Bool = false, isReverse: Bool = false) {
        self.axis = axis
        self.isExclusive = isExclusive
        self.isReverse = isReverse
    }
    public static let name = "cumsum"
    public static let arity = 1...1

    public func inferTypes(_ operands: Operands) throws -> [TensorType] {
        let type = try operands.require(0, { $0 != .bool }, "a number")
        _ = try normalized(axis: axis, rank: type.rank)
        return [type]
    }
}

extension CumSum {
    public func evaluate(_ inputs: Inputs) throws -> [Tensor] {
        let output = try output(for: inputs)
        switch output.dtype {
        case .f64: return [try evaluate(Double.self, inputs[0])]
        case .f32, .f16, .bf16: return [try evaluate(Float.self, inputs[0])]
        default: return [try evaluate(Int64.self, inputs[0])]
        }
    }

    private func evaluate<T: ComputeNumber>(_ type: T.Type, _ x: Tensor) throws -> Tensor {
        let split = try AxisSplit(x.shape, axis: normalized(axis: axis, rank: x.rank))
        return try T.make(x.dtype, x.shape) { out in
            try T.read(x) { source in
                for outer in 0..<split.outer {
                    for inner in 0..<split.inner {
                        var sum: T = 0
                        for step in 0..<split.size {
                            let place = isReverse ? split.size - 1 - step : step
                            let index = (outer * split.size + place) * split.inner + inner
                            if isExclusive { out[index] = sum }
                            sum = T.wrappingAdd(sum, source[index])
                            if !isExclusive { out[index] = sum }
                        }
                    }
                }
            }
        }
    }
}
