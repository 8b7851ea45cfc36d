import GraphIR
import Tensors

/// Softmax and its logarithm along one axis, with the maximum subtracted first.
public struct Softmax: OperatorFamily {
    public enum Kind: String, Sendable, Hashable, Codable, CaseIterable { case softmax, log_softmax }
    public let kind: Kind
    public let axis: Int

    public init(_ kind: Kind = .softmax, axis: Int) {
        self.kind = kind
        self.axis = axis
    }
    public static let name = "softmax_family"
    public static let arity = 1...1

    public func inferTypes(_ operands: Operands) throws -> [TensorType] {
        let type = try operands.require(0, \.isFloat, "a float")
        _ = try normalized(axis: axis, rank: type.rank)
        return [type]
    }
}

extension Softmax {
    public func evaluate(_ inputs: Inputs) throws -> [Tensor] {
        let output = try output(for: inputs)
        let x = try inputs[0]
        return [output.dtype == .f64 ? try evaluate(Double.self, x, output) : try evaluate(Float.self, x, output)]
    }

    private func evaluate<T: ComputeReal>(_ type: T.Type, _ x: Tensor, _ output: (dtype: DType, shape: [Int])) throws -> Tensor {
        let split = try AxisSplit(x.shape, axis: normalized(axis: axis, rank: x.rank))
        return try T.make(output.dtype, output.shape) { out in
            try T.read(x) { source in
                for outer in 0..<split.outer {
                    for inner in 0..<split.inner {
                        let start = outer * split.size * split.inner + inner
                        var largest = -T.infinity
                        for place in 0..<split.size {
                            let value = source[start + place * split.inner]
                            if value > largest || value.isNaN { largest = value }
                        }
                        var total = 0.0
                        for place in 0..<split.size {
                            let index = start + place * split.inner
                            let value = source[index] - largest
                            let power = T.exp(value)
                            total += Double(power)
                            out[index] = kind == .softmax ? power : value
                        }
                        let divisor = T.converting(total)
                        let shift = T.converting(Double.log(total))
                        for place in 0..<split.size {
                            let index = start + place * split.inner
                            out[index] = kind == .softmax ? out[index] / divisor : out[index] - shift
                        }
                    }
                }
            }
        }
    }
}
