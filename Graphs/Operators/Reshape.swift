import GraphIR
import Tensors

/// The same elements under another shape. Operands: x, shape (i64 vector). One element of the shape may be -1: whatever is left.
public struct Reshape: Operator {
    /// An element 0 of the shape copies the input's dimension at that place (ONNX without allowzero).
    public let zeroCopies: Bool
    public init(zeroCopies: Bool = false) { self.zeroCopies = zeroCopies }
    public static let name = "reshape"
    public static let arity = 2...2

    public func inferTypes(_ operands: Operands) throws -> [TensorType] {
        let x = try operands.type(0)
        let shape = try operands.require(1, { $0 == .i64 || $0 == .i32 }, "i64")
        guard shape.rank == 1 else { throw OperatorError(.shapeMismatch, "the shape of reshape has rank \(shape.rank), not 1") }
        guard let target = operands.value(1)?.elements else {
            guard let rank = shape.dims[0].fixedValue, rank >= 0, rank <= 64 else {
                throw OperatorError(.unsupported, "reshape to a rank that only the data tell")
            }
            return [TensorType(x.dtype, (0..<rank).map { operands.freshSymbol($0) })]
        }
        return [TensorType(x.dtype, try resolve(target, from: x.dims))]
    }

    public func inferValues(_ operands: Operands) throws -> [SymbolicTensor?] {
        guard let value = operands.value(0), let shape = try inferTypes(operands)[0].shape else { return [] }
        return [SymbolicTensor(shape: shape, elements: value.elements)]
    }

    /// The target with -1 and 0 replaced.
    ///
    /// - Throws: `OperatorError` where the element counts cannot agree.
    public func resolve(_ target: [Dim], from dims: [Dim]) throws -> [Dim] {
        var result = target
        var inferred: Int?
        for (index, dim) in target.enumerated() {
            switch dim.fixedValue {
            case .some(0) where zeroCopies:
                guard index < dims.count else { throw OperatorError(.shapeMismatch, "reshape copies dimension \(index) of [\(text(dims))]") }
                result[index] = dims[index]
            case .some(-1):
                guard inferred == nil else { throw OperatorError(.shapeMismatch, "reshape to [\(text(target))] leaves two dimensions open") }
                inferred = index
            case let size? where size < 0: throw OperatorError(.shapeMismatch, "reshape to a negative size \(size)")
            default: break
            }
        }
        let total = try dims.reduce(1) { try $0 * $1 }
        if let inferred {
            let known = try result.enumerated().reduce(1 as Dim) { $1.offset == inferred ? $0 : try $0 * $1.element }
            if known == 0 {
                guard Dim.areEqual(total, 0) != false else { throw OperatorError(.shapeMismatch, "[\(text(dims))] does not reshape to [\(text(target))]") }
                result[inferred] = 0
            } else {
                if let a = total.fixedValue, let b = known.fixedValue, a % b != 0 {
                    throw OperatorError(.shapeMismatch, "[\(text(dims))] does not reshape to [\(text(target))]")
                }
                result[inferred] = try Dim.apply(.floordiv, total, known)
            }
        } else {
            let product = try result.reduce(1) { try $0 * $1 }
            if Dim.areEqual(total, product) == false {
                throw OperatorError(.shapeMismatch, "[\(text(dims))] does not reshape to [\(text(target))]")
            }
        }
        return result
    }
}

extension Reshape {
    public func evaluate(_ inputs: Inputs) throws -> [Tensor] {
        let output = try output(for: inputs)
        return [try inputs[0].reshaped(output.shape)]
    }
}
