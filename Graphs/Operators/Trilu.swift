import GraphIR
import Tensors

/// The upper or lower triangle of the last two dims; everything else becomes zero. Operands: x, k (i64 scalar: the diagonal, 0 the main,
/// positive above it) or absent (0).
public struct Trilu: Operator {
    public let isUpper: Bool
    public init(isUpper: Bool) { self.isUpper = isUpper }
    public static let name = "trilu"
    public static let arity = 1...2

    public func inferTypes(_ operands: Operands) throws -> [TensorType] {
        let type = try operands.type(0)
        guard type.rank >= 2 else { throw OperatorError(.shapeMismatch, "trilu of a tensor of rank \(type.rank)") }
        if operands.has(1) { try operands.require(1, { $0 == .i64 }, "i64") }
        return [type]
    }
}
