import GraphIR
import Tensors

/// The coordinates of all elements that are not zero (NaN is not), in row-major order: one row per dim of the operand, one column per
/// element found, i64. How many there are only the data tell.
public struct NonZero: Operator {
    public init() {}
    public static let name = "non_zero"
    public static let arity = 1...1

    public func inferTypes(_ operands: Operands) throws -> [TensorType] {
        let x = try operands.fact(0)
        guard x.type.rank > 0 else { throw OperatorError(.shapeMismatch, "non_zero of a scalar") }
        let count = x.constant.map { Dim.fixed(Self.places($0).count) } ?? operands.freshSymbol()
        return [TensorType(.i64, [.fixed(x.type.rank), count])]
    }

    /// Row-major indices of the elements that are not zero.
    private static func places(_ x: Tensor) -> [Int] {
        if x.dtype.isFloat {
            let elements = x.doubles()
            return elements.indices.filter { elements[$0] != 0 }
        }
        let elements = x.integers()
        return elements.indices.filter { elements[$0] != 0 }
    }
}

extension NonZero {
    public func evaluate(_ inputs: Inputs) throws -> [Tensor] {
        let x = try inputs[0]
        let strides = Shape.strides(x.shape)
        let places = Self.places(x)
        var coordinates: [Int64] = []
        coordinates.reserveCapacity(places.count * x.rank)
        for axis in x.shape.indices {
            for place in places { coordinates.append(Int64(place / strides[axis] % x.shape[axis])) }
        }
        return [try Tensor(integers: coordinates, shape: [x.rank, places.count])]
    }
}
