import GraphIR
import Tensors

/// Matrix product over the last two dims, the dims before them broadcast: `[..., m, k] x [..., k, n] -> [..., m, n]`. Both operands
/// have rank 2 or more.
public struct MatMul: Operator {
    /// The operand is stored as `[..., k, m]`.
    public let transposeA: Bool
    /// The operand is stored as `[..., n, k]`.
    public let transposeB: Bool

    public init(transposeA: Bool = false, transposeB: Bool = false) {
        self.transposeA = transposeA
        self.transposeB = transposeB
    }
    public static let name = "matmul"
    public static let arity = 2...2

    public func inferTypes(_ operands: Operands) throws -> [TensorType] {
        let dtype = try operands.requireSameType(0..<2)
        try operands.require(0, { $0 != .bool }, "a number")
        let a = try operands.type(0).dims
        let b = try operands.type(1).dims
        guard a.count >= 2, b.count >= 2 else {
            throw OperatorError(.shapeMismatch, "matmul of rank \(a.count) and \(b.count), both must be 2 or more")
        }
        let (m, k) = transposeA ? (a[a.count - 1], a[a.count - 2]) : (a[a.count - 2], a[a.count - 1])
        let (inner, n) = transposeB ? (b[b.count - 1], b[b.count - 2]) : (b[b.count - 2], b[b.count - 1])
        try requireEqual(k, inner, "inner dimensions of [\(text(a))] and [\(text(b))] differ")
        return [TensorType(dtype, try broadcast(Array(a.dropLast(2)), Array(b.dropLast(2))) + [m, n])]
    }
}

extension MatMul {
    public func evaluate(_ inputs: Inputs) throws -> [Tensor] {
        let output = try output(for: inputs)
        let a = try transposeA ? matrixTransposed(inputs[0]) : inputs[0]
        let b = try transposeB ? matrixTransposed(inputs[1]) : inputs[1]
        switch output.dtype {
        case .f64: return [try batchedProduct(Double.self, a, b, output)]
        case .f32, .f16, .bf16: return [try batchedProduct(Float.self, a, b, output)]
        default: return [try batchedProduct(Int64.self, a, b, output)]
        }
    }
}
