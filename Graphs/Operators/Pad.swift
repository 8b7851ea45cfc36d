import GraphIR
import Tensors

/// Adds elements before and after along every dim; negative amounts remove some. Operands: x, pads (i64 vector: all begins, then all
/// ends), value (scalar of x's type) or absent (zero).
public struct Pad: Operator {
    public enum Mode: String, Sendable, Hashable, Codable { case constant, reflect, edge, wrap }
    public let mode: Mode
    public init(mode: Mode = .constant) { self.mode = mode }
    public static let name = "pad"
    public static let arity = 2...3

    public func inferTypes(_ operands: Operands) throws -> [TensorType] {
        var type = try operands.type(0)
        try operands.requireSameType([0, 2])
        let pads = try operands.require(1, { $0 == .i64 || $0 == .i32 }, "i64")
        guard pads.rank == 1 else { throw OperatorError(.shapeMismatch, "the pads have rank \(pads.rank), not 1") }
        try requireEqual(pads.dims[0], .fixed(2 * type.rank), "pads and rank differ")
        let amounts = operands.value(1)?.elements
        for axis in type.dims.indices {
            type.dims[axis] = if let amounts { try type.dims[axis] + amounts[axis] + amounts[axis + type.rank] } else { operands.freshSymbol(axis) }
        }
        return [type]
    }
}
