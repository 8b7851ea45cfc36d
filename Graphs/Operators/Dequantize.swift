import GraphIR
import Tensors

/// `(x - zero) * scale` in scale's float type. Operands: x (i8, u8 or i32), scale (a scalar, or a vector along `axis`), zero (of x's type)
/// or absent (0). On a constant this is how int8 weights are stored.
public struct Dequantize: Operator {
    /// Which dim of x a vector scale runs along.
    public let axis: Int

    public init(axis: Int = 1) { self.axis = axis }
    public static let name = "dequantize"
    public static let arity = 2...3

    public func inferTypes(_ operands: Operands) throws -> [TensorType] {
        let x = try operands.require(0, { [.i8, .u8, .i32].contains($0) }, "i8, u8 or i32")
        let scale = try operands.require(1, \.isFloat, "a float")
        if operands.has(2) { try operands.requireSameType([0, 2]) }
        try checkScale(operands, axis: axis)
        return [TensorType(scale.dtype, x.dims)]
    }
}
