import GraphIR
import Tensors

/// Running sums along an axis.
public struct CumSum: Operator {
    public let axis: Int
    /// Each sum leaves out its own element.
    public let isExclusive: Bool
    /// From the end.
    public let isReverse: Bool

    public init(axis: Int, isExclusive: Bool = false, isReverse: Bool = false) {
        self.axis = axis
        self.isExclusive = isExclusive
        self.isReverse = isReverse
    }
    public static let name = "cumsum"
    public static let arity = 1...1

    public func inferTypes(_ operands: Operands) throws -> [TensorType] {
        let type = try operands.require(0, { $0 != .bool }, "a number")
        _ = try normalized(axis: axis, rank: type.rank)
        return [type]
    }
}
