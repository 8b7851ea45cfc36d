import GraphIR
import Tensors

/// Conversion to another element type: floats round to nearest even, float to integer truncates toward zero, anything nonzero
/// is true.
public struct Cast: Operator {
    public let to: DType
    public init(to: DType) { self.to = to }
    public static let name = "cast"
    public static let arity = 1...1

    public func inferTypes(_ operands: Operands) throws -> [TensorType] { [TensorType(to, try operands.type(0).dims)] }

    public func inferValues(_ operands: Operands) throws -> [SymbolicTensor?] {
        // Through a float type shape arithmetic stays what it is: sizes are far below 2^24.
        guard let value = operands.value(0) else { return [] }
        if to != .bool { return [value] }
        guard let fixed = value.fixedValues else { return [] }
        return [SymbolicTensor(shape: value.shape, elements: fixed.map { .fixed($0 == 0 ? 0 : 1) })]
    }
}
