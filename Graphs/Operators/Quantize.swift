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

extension Quantize {
    /// NaN becomes the zero point, as a float that is converted to an integer becomes 0.
    public func evaluate(_ inputs: Inputs) throws -> [Tensor] {
        let output = try output(for: inputs)
        let x = try inputs[0]
        let along = AlongAxis(axis: axis, rank: x.rank)
        let scale = try along.placed(inputs[1])
        let (lowest, highest) = to.integerRange
        let working: DType = x.dtype == .f64 ? .f64 : .f32
        let quotient = try Binary(.div).evaluate(Inputs([x.converted(to: working), scale.converted(to: working)]))[0]
        let rounded = try Unary(.round).evaluate(Inputs([quotient]))[0]
        let zero = try inputs.optional(2).map { try along.placed($0) } ?? Tensor(integers: [0], dtype: to, shape: [])
        return [
            try mapPairs(Tensor(integers: rounded.integers(), shape: x.shape), zero, output) { (value: Int64, zero: Int64) in
                let (sum, overflow) = value.addingReportingOverflow(zero)
                return overflow ? (value < 0 ? lowest : highest) : Swift.min(Swift.max(sum, lowest), highest)
            }
        ]
    }
}

/// Lays a scale or zero point out so that it broadcasts along its axis of x.
struct AlongAxis {
    let axis: Int
    let rank: Int

    func placed(_ tensor: Tensor) throws -> Tensor {
        if tensor.count == 1 { return try tensor.reshaped([]) }
        var shape = [Int](repeating: 1, count: rank)
        shape[try normalized(axis: axis, rank: rank)] = tensor.count
        return try tensor.reshaped(shape)
    }
}
