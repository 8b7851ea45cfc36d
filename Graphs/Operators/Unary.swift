import GraphIR
import Tensors

/// Elementwise functions of one operand; the output has its type, but for `is_nan` and `is_inf` (bool).
public struct Unary: OperatorFamily {
    public enum Kind: String, Sendable, Hashable, Codable, CaseIterable {
        case abs, neg, sign, floor, ceil
        /// To the nearest integer, halves to even.
        case round
        case exp, log, sqrt, rsqrt, reciprocal, sin, cos, tanh, sigmoid, softplus, erf, relu
        /// x * Phi(x), with the exact normal distribution function (Hendrycks and Gimpel, 2016).
        case gelu
        /// 0.5 x (1 + tanh(sqrt(2 / pi) (x + 0.044715 x^3))), the approximation of the same paper.
        case gelu_tanh
        /// x * sigmoid(x).
        case silu
        /// Of bool only.
        case not
        case is_nan, is_inf
    }
    public let kind: Kind
    public init(_ kind: Kind) { self.kind = kind }

    public static let name = "unary"
    public static let arity = 1...1

    public func inferTypes(_ operands: Operands) throws -> [TensorType] {
        var type = try operands.type(0)
        switch kind {
        case .not: try operands.require(0, { $0 == .bool }, "bool")
        case .abs, .neg, .sign, .relu, .floor, .ceil, .round: try operands.require(0, { $0 != .bool }, "a number")
        case .is_nan, .is_inf:
            try operands.require(0, \.isFloat, "a float")
            type.dtype = .bool
        default: try operands.require(0, \.isFloat, "a float")
        }
        return [type]
    }

    public func inferValues(_ operands: Operands) throws -> [SymbolicTensor?] {
        guard let value = operands.value(0) else { return [] }
        switch kind {
        case .neg:
            guard let elements = try? value.elements.map({ try $0 * -1 }), let dtype = operands.optional(0)?.type.dtype else { return [] }
            return [SymbolicTensor(shape: value.shape, elements: elements)?.held(by: dtype)]
        case .not:
            guard let bits = value.fixedValues else { return [] }
            return [SymbolicTensor(shape: value.shape, elements: bits.map { .fixed($0 == 0 ? 1 : 0) })]
        case .floor, .ceil, .round: return [value]
        case .abs, .relu:
            guard value.elements.allSatisfy(\.isKnownNonNegative) else { return [] }
            return [value]
        default: return []
        }
    }
}

extension Unary {
    public func evaluate(_ inputs: Inputs) throws -> [Tensor] {
        let output = try output(for: inputs)
        let x = try inputs[0]
        switch x.dtype {
        case .f64: return [try evaluateReal(Double.self, x, output)]
        case .f32, .f16, .bf16: return [try evaluateReal(Float.self, x, output)]
        default: return [try evaluateInteger(x)]
        }
    }

    private func evaluateReal<T: ComputeReal>(_ type: T.Type, _ x: Tensor, _ output: (dtype: DType, shape: [Int])) throws -> Tensor {
        func sigmoid(_ v: T) -> T {
            if v >= 0 { return 1 / (1 + T.exp(-v)) }
            let e = T.exp(v)
            return e / (1 + e)
        }
        switch kind {
        case .abs: return try mapElements(x) { (v: T) in v.magnitude }
        case .neg: return try mapElements(x) { (v: T) in -v }
        case .sign: return try mapElements(x) { (v: T) in v.isNaN ? v : v > 0 ? 1 : v < 0 ? -1 : 0 }
        case .floor: return try mapElements(x) { (v: T) in v.rounded(.down) }
        case .ceil: return try mapElements(x) { (v: T) in v.rounded(.up) }
        case .round: return try mapElements(x) { (v: T) in v.rounded(.toNearestOrEven) }
        case .exp: return try mapElements(x) { (v: T) in T.exp(v) }
        case .log: return try mapElements(x) { (v: T) in T.log(v) }
        case .sqrt: return try mapElements(x) { (v: T) in v.squareRoot() }
        case .rsqrt: return try mapElements(x) { (v: T) in 1 / v.squareRoot() }
        case .reciprocal: return try mapElements(x) { (v: T) in 1 / v }
        case .sin: return try mapElements(x) { (v: T) in T.sin(v) }
        case .cos: return try mapElements(x) { (v: T) in T.cos(v) }
        case .tanh: return try mapElements(x) { (v: T) in T.tanh(v) }
        case .sigmoid: return try mapElements(x, sigmoid)
        case .softplus: return try mapElements(x) { (v: T) in v.isNaN ? v : T.maximum(v, 0) + T.log1p(T.exp(-v.magnitude)) }
        case .erf: return try mapElements(x) { (v: T) in T.erf(v) }
        // Written so that NaN stays NaN.
        case .relu: return try mapElements(x) { (v: T) in v < 0 ? 0 : v }
        case .gelu:
            let rootOfHalf = T.converting(0.5.squareRoot())
            return try mapElements(x) { (v: T) in 0.5 * v * (1 + T.erf(v * rootOfHalf)) }
        case .gelu_tanh:
            let slope = T.converting((2 / Double.pi).squareRoot())
            let cubic = T.converting(0.044715)
            return try mapElements(x) { (v: T) in 0.5 * v * (1 + T.tanh(slope * (v + cubic * v * v * v))) }
        case .silu: return try mapElements(x) { (v: T) in v * sigmoid(v) }
        case .is_nan: return try Tensor(bools: T.elements(of: x).map(\.isNaN), shape: output.shape)
        case .is_inf: return try Tensor(bools: T.elements(of: x).map(\.isInfinite), shape: output.shape)
        case .not: throw OperatorError(.typeMismatch, "not of \(x.dtype.rawValue)")
        }
    }

    private func evaluateInteger(_ x: Tensor) throws -> Tensor {
        switch kind {
        case .not: return try mapElements(x) { (v: Int64) in v == 0 ? 1 : 0 }
        case .neg: return try mapElements(x) { (v: Int64) in 0 &- v }
        case .abs where !x.dtype.isUnsigned: return try mapElements(x) { (v: Int64) in v < 0 ? 0 &- v : v }
        case .relu where !x.dtype.isUnsigned: return try mapElements(x) { (v: Int64) in max(v, 0) }
        case .sign where !x.dtype.isUnsigned: return try mapElements(x) { (v: Int64) in v.signum() }
        case .sign: return try mapElements(x) { (v: Int64) in v == 0 ? 0 : 1 }
        case .abs, .relu, .floor, .ceil, .round: return x
        default: throw OperatorError(.typeMismatch, "\(kind.rawValue) of \(x.dtype.rawValue)")
        }
    }
}
