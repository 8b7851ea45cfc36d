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
        case .neg: return [SymbolicTensor(shape: value.shape, elements: try value.elements.map { try $0 * -1 })]
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
