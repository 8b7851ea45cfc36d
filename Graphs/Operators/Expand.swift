import GraphIR
import Tensors

/// Broadcasts x to a shape, both ways as ONNX does: the result is the broadcast of the two. Operands: x, shape (i64 vector).
public struct Expand: Operator {
    public init() {}
    public static let name = "expand"
    public static let arity = 2...2

    public func inferTypes(_ operands: Operands) throws -> [TensorType] {
        let x = try operands.type(0)
        let shape = try operands.require(1, { $0 == .i64 || $0 == .i32 }, "i64")
        guard shape.rank == 1 else { throw OperatorError(.shapeMismatch, "the shape of expand has rank \(shape.rank), not 1") }
        if let target = operands.value(1)?.elements {
            if let negative = target.first(where: { ($0.fixedValue ?? 0) < 0 }) {
                throw OperatorError(.shapeMismatch, "expand to a negative size \(negative)")
            }
            return [TensorType(x.dtype, try broadcast(x.dims, target))]
        }
        guard let length = shape.dims[0].fixedValue, length >= 0, length <= 64 else {
            throw OperatorError(.unsupported, "expand to a rank that only the data tell")
        }
        return [TensorType(x.dtype, (0..<max(length, x.rank)).map { operands.freshSymbol($0) })]
    }

    public func inferValues(_ operands: Operands) throws -> [SymbolicTensor?] {
        guard let value = operands.value(0), let shape = try inferTypes(operands)[0].shape,
            let one = SymbolicTensor(shape: [], elements: [1])
        else { return [] }
        return [SymbolicTensor.combining(value, one, shape: shape) { x, _ in x }]
    }
}

extension Expand {
    public func evaluate(_ inputs: Inputs) throws -> [Tensor] {
        let output = try output(for: inputs)
        let x = try inputs[0]
        return [try stridedCopy(x, shape: output.shape, strides: Shape.broadcastStrides(x.shape, to: output.shape))]
    }
}
