import GraphIR
import Tensors

/// `(a - aZero) (b - bZero)` of 8-bit operands in exact i32 arithmetic. Operands: a `[..., m, k]`, b `[..., k, n]` (each i8 or u8), aZero and
/// bZero (scalars, or bZero a vector `[n]`, aZero `[m]`) or absent (0). Both a and b have rank 2 or more.
public struct MatMulInteger: Operator {
    public init() {}
    public static let name = "matmul_integer"
    public static let arity = 2...4

    public func inferTypes(_ operands: Operands) throws -> [TensorType] {
        for index in 0..<2 { try operands.require(index, { $0 == .i8 || $0 == .u8 }, "i8 or u8") }
        if operands.has(2) { try operands.requireSameType([0, 2]) }
        if operands.has(3) { try operands.requireSameType([1, 3]) }
        let a = try operands.type(0).dims
        let b = try operands.type(1).dims
        guard a.count >= 2, b.count >= 2 else {
            throw OperatorError(.shapeMismatch, "matmul_integer of rank \(a.count) and \(b.count), both must be 2 or more")
        }
        try requireEqual(a[a.count - 1], b[b.count - 2], "inner dimensions of [\(text(a))] and [\(text(b))] differ")
        for (index, size) in [(2, a[a.count - 2]), (3, b[b.count - 1])] {
            guard let zero = operands.optional(index)?.type else { continue }
            guard zero.rank <= 1 else { throw OperatorError(.unsupported, "a zero point of rank \(zero.rank)") }
            if zero.rank == 1, zero.dims[0] != 1 { try requireEqual(zero.dims[0], size, "zero point and matrix differ") }
        }
        return [TensorType(.i32, try broadcast(Array(a.dropLast(2)), Array(b.dropLast(2))) + [a[a.count - 2], b[b.count - 1]])]
    }
}

extension MatMulInteger {
    public func evaluate(_ inputs: Inputs) throws -> [Tensor] {
        let output = try output(for: inputs)
        // Zero points as columns and rows, so that taking them off is a broadcast subtraction; 16 bits hold every difference.
        func shifted(_ x: Tensor, _ zero: Tensor?, isColumn: Bool) throws -> Tensor {
            let wide = try x.converted(to: .i16)
            guard let zero else { return wide }
            let vector = try zero.converted(to: .i16).reshaped(isColumn ? [zero.count, 1] : [zero.count])
            return try mapPairs(wide, vector, (.i16, x.shape)) { (x: Int64, y: Int64) in x &- y }
        }
        let a = try shifted(inputs[0], inputs.optional(2), isColumn: true)
        let b = try shifted(inputs[1], inputs.optional(3), isColumn: false)
        return [try batchedProduct(Int64.self, a, b, output)]
    }
}
