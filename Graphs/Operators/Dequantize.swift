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

extension Dequantize {
    public func evaluate(_ inputs: Inputs) throws -> [Tensor] {
        let output = try output(for: inputs)
        let x = try inputs[0]
        let along = AlongAxis(axis: axis, rank: x.rank)
        var shifted = x
        if let zero = inputs.optional(2) {
            shifted = try mapPairs(x, along.placed(zero), (.i64, x.shape)) { (value: Int64, zero: Int64) in value - zero }
        }
        // In f32 and rounded once, also where the result is stored in 16 bits.
        let working: DType = output.dtype == .f64 ? .f64 : .f32
        let scale = try along.placed(inputs[1]).converted(to: working)
        return [try Binary(.mul).evaluate(Inputs([shifted.converted(to: working), scale]))[0].converted(to: output.dtype)]
    }
}
