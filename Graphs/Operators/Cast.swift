import GraphIR
import Tensors

/// Conversion to another element type: floats round to nearest even, float to integer truncates toward zero, anything nonzero
/// is true. A weight in blocks is dequantised; nothing is cast to blocks.
public struct Cast: Operator {
    public let to: DType
    public init(to: DType) { self.to = to }
    public static let name = "cast"
    public static let arity = 1...1

    public func inferTypes(_ operands: Operands) throws -> [TensorType] {
        guard !to.isBlock else { throw OperatorError(.unsupportedType, "cast to \(to.rawValue): only constants are stored in blocks") }
        return [TensorType(to, try operands.weightType(0).dims)]
    }

    public func inferValues(_ operands: Operands) throws -> [SymbolicTensor?] {
        guard let value = operands.value(0) else {
            guard let constant = operands.optional(0)?.constant, constant.count <= SymbolicTensor.maximumCount else { return [] }
            return [SymbolicTensor(try constant.converted(to: to))]
        }
        if to != .bool { return [value.held(by: to)] }
        guard let fixed = value.fixedValues else { return [] }
        return [SymbolicTensor(shape: value.shape, elements: fixed.map { .fixed($0 == 0 ? 0 : 1) })]
    }
}

extension Cast {
    public func evaluate(_ inputs: Inputs) throws -> [Tensor] {
        let output = try output(for: inputs)
        return [try inputs[0].converted(to: output.dtype)]
    }
}
