import GraphIR
import Tensors

/// Reductions over axes; no axes means none (the operand unchanged), so list all to reduce to one value. The output has the
/// operand's type, but for `argmax` and `argmin` (i64, exactly one axis, the first of equals).
public struct Reduce: OperatorFamily {
    public enum Kind: String, Sendable, Hashable, Codable, CaseIterable {
        case sum = "reduce_sum"
        case mean = "reduce_mean"
        case max = "reduce_max"
        case min = "reduce_min"
        case prod = "reduce_prod"
        case sumSquare = "reduce_sum_square"
        case l1 = "reduce_l1"
        case l2 = "reduce_l2"
        case logSum = "reduce_log_sum"
        case logSumExp = "reduce_log_sum_exp"
        case argmax = "reduce_argmax"
        case argmin = "reduce_argmin"
    }
    public let kind: Kind
    public let axes: [Int]
    public let keepDims: Bool

    public init(_ kind: Kind, axes: [Int], keepDims: Bool) {
        self.kind = kind
        self.axes = axes
        self.keepDims = keepDims
    }
    public static let name = "reduce"
    public static let arity = 1...1

    public func inferTypes(_ operands: Operands) throws -> [TensorType] {
        let type = try operands.require(0, { $0 != .bool }, "a number")
        let axes = Set(try normalized(axes: axes, rank: type.rank))
        let isArgument = kind == .argmax || kind == .argmin
        if isArgument, axes.count != 1 { throw OperatorError(.invalidAttribute, "\(kind.rawValue) takes exactly one axis") }
        let dims = type.dims.indices.compactMap { index in axes.contains(index) ? (keepDims ? 1 : nil) : type.dims[index] }
        return [TensorType(isArgument ? .i64 : type.dtype, dims)]
    }

    public func inferValues(_ operands: Operands) throws -> [SymbolicTensor?] {
        guard kind == .prod || kind == .sum || kind == .max || kind == .min, let value = operands.value(0), value.shape.count == 1,
            try normalized(axes: axes, rank: 1) == [0], let first = value.elements.first
        else { return [] }
        let total = try value.elements.dropFirst().reduce(first) { partial, element in
            switch kind {
            case .prod: return try partial * element
            case .sum: return try partial + element
            case .max: return try Dim.apply(.max, partial, element)
            default: return try Dim.apply(.min, partial, element)
            }
        }
        return [SymbolicTensor(shape: keepDims ? [1] : [], elements: [total])]
    }
}
