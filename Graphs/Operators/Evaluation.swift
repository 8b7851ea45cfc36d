import GraphIR
import Tensors

/// What reference evaluations share: every one starts from the type rule, applied to the actual shapes.
enum Evaluation {
    /// Larger tensors come from damaged shapes; refusing them is better than asking the system for the memory.
    static let maximumByteCount = 1 << 32

    /// - Throws: `OperatorError` for a shape that no memory holds.
    static func checkSize(_ shape: [Int], _ dtype: DType) throws {
        guard let bytes = dtype.byteCount(forElements: try Shape.count(shape)), bytes <= maximumByteCount else {
            throw OperatorError(.shapeMismatch, "a tensor of type \(dtype.rawValue) and shape \(shape) is too large")
        }
    }
}

extension Operator {
    /// Types and shapes of the outputs for actual inputs. Doing this first is what keeps evaluations free of traps: symbols that
    /// only the data settle are numbers now, so the type rule checks everything.
    ///
    /// - Throws: `OperatorError` where the operands do not fit or an output is too large for memory.
    func outputs(for inputs: Inputs) throws -> [(dtype: DType, shape: [Int])] {
        try inferTypes(inputs.operands).map { type in
            guard let shape = type.shape else {
                throw OperatorError(.unsupported, "the output shape [\(text(type.dims))] of \(mnemonic) does not follow from its operands")
            }
            try Evaluation.checkSize(shape, type.dtype)
            return (type.dtype, shape)
        }
    }

    /// The same for operators with one output.
    func output(for inputs: Inputs) throws -> (dtype: DType, shape: [Int]) {
        guard let first = try outputs(for: inputs).first else { throw OperatorError(.invalidAttribute, "\(mnemonic) has no output") }
        return first
    }
}
