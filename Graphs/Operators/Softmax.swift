import GraphIR
import Tensors

/// Softmax and its logarithm along one axis, with the maximum subtracted first.
public struct Softmax: OperatorFamily {
    public enum Kind: String, Sendable, Hashable, Codable, CaseIterable { case softmax, log_softmax }
    public let kind: Kind
    public let axis: Int

    public init(_ kind: Kind = .softmax, axis: Int) {
        self.kind = kind
        self.axis = axis
    }
    public static let name = "softmax_family"
    public static let arity = 1...1

    public func inferTypes(_ operands: Operands) throws -> [TensorType] {
        let type = try operands.require(0, \.isFloat, "a float")
        _ = try normalized(axis: axis, rank: type.rank)
        return [type]
    }
}
