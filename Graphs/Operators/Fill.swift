import GraphIR
import Tensors

/// A tensor of one repeated value. Operands: shape (i64 vector), value (a scalar of the wanted type).
public struct Fill: Operator {
    public init() {}
    public static let name = "fill"
    public static let arity = 2...2

    public func inferTypes(_ operands: Operands) throws -> [TensorType] {
        let shape = try operands.require(0, { $0 == .i64 || $0 == .i32 }, "i64")
        let value = try operands.type(1)
        guard shape.rank == 1 else { throw OperatorError(.shapeMismatch, "the shape of fill has rank \(shape.rank), not 1") }
        guard value.rank == 0 else { throw OperatorError(.shapeMismatch, "the value of fill has rank \(value.rank), not 0") }
        if let target = operands.value(0)?.elements {
            if let negative = target.first(where: { ($0.fixedValue ?? 0) < 0 }) {
                throw OperatorError(.shapeMismatch, "fill of a negative size \(negative)")
            }
            return [TensorType(value.dtype, target)]
        }
        guard let rank = shape.dims[0].fixedValue, rank >= 0, rank <= 64 else {
            throw OperatorError(.unsupported, "fill of a rank that only the data tell")
        }
        return [TensorType(value.dtype, (0..<rank).map { operands.freshSymbol($0) })]
    }

    public func inferValues(_ operands: Operands) throws -> [SymbolicTensor?] {
        guard let value = operands.value(1)?.elements.first, let shape = operands.value(0)?.fixedValues,
            let count = try? Shape.count(shape), count <= SymbolicTensor.maximumCount
        else { return [] }
        return [SymbolicTensor(shape: shape, elements: Array(repeating: value, count: count))]
    }
}

extension Fill {
    public func evaluate(_ inputs: Inputs) throws -> [Tensor] {
        let output = try output(for: inputs)
        return [try stridedCopy(inputs[1], shape: output.shape, strides: output.shape.map { _ in 0 })]
    }
}
