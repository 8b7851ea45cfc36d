import GraphIR
import Tensors

/// `saturate(round(x / scale) + zero)`, halves to even. Operands: x (float), scale (a scalar, or a vector along `axis`), zero (of the
/// quantised type and scale's shape) or absent (0).
public struct Quantize: Operator {
    /// i8 or u8.
    public let to: DType
    /// Which dim of x a vector scale runs along.
    public let axis: Int

    public init(to: DType, axis: Int = 1) {
        self.to = to
        self.axis = axis
    }
    public static let name = "quantize"
    public static let arity = 2...3

    public func inferTypes(_ operands: Operands) throws -> [TensorType] {
        let x = try operands.require(0, \.isFloat, "a float")
        guard to == .i8 || to == .u8 else { throw OperatorError(.unsupportedType, "quantize to \(to.rawValue)") }
        if operands.has(2) { try operands.require(2, { $0 == to }, to.rawValue) }
        try checkScale(operands, axis: axis)
        return [TensorType(to, x.dims)]
    }
}

/// A scale and zero point fit x: scalars (or vectors of one element), or vectors along the axis.
func checkScale(_ operands: Operands, axis: Int) throws {
    let x = try operands.type(0)
    for index in 1..<3 {
        guard let type = operands.optional(index)?.type else { continue }
        guard type.rank <= 1 else { throw OperatorError(.unsupported, "a quantisation scale of rank \(type.rank) (blocks)") }
        if type.rank == 1, type.dims[0] != 1 {
            try requireEqual(type.dims[0], x.dims[try normalized(axis: axis, rank: x.rank)], "quantisation scale and axis \(axis) differ")
        }
    }
}
