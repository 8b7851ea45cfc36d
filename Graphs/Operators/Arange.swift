import GraphIR
import Tensors

/// `start, start + delta, ...` as long as it stays before `limit`. Operands: three scalars of one type: start, limit, delta.
public struct Arange: Operator {
    public init() {}
    public static let name = "range"
    public static let arity = 3...3

    public func inferTypes(_ operands: Operands) throws -> [TensorType] {
        let dtype = try operands.requireSameType(0..<3)
        try operands.require(0, { $0 != .bool }, "a number")
        for index in 0..<3 where try operands.type(index).rank != 0 {
            throw OperatorError(.shapeMismatch, "operand \(index) of range is no scalar")
        }
        guard dtype.isInteger, let start = operands.value(0)?.elements.first, let limit = operands.value(1)?.elements.first,
            let delta = operands.value(2)?.elements.first?.fixedValue
        else {
            if let count = try constantCount(operands) { return [TensorType(dtype, [.fixed(count)])] }
            return [TensorType(dtype, [operands.freshSymbol()])]
        }
        guard delta != 0, delta != .min else { throw OperatorError(.invalidAttribute, "range with delta \(delta)") }
        let span = try delta > 0 ? limit - start : start - limit
        let step: Dim = .fixed(abs(delta))
        let count = try Dim.apply(.floordiv, span + step - 1, step)
        return [TensorType(dtype, [count.isKnownNonNegative ? count : try Dim.apply(.max, count, 0)])]
    }

    /// The count of a range of floats whose bounds are constants.
    private func constantCount(_ operands: Operands) throws -> Int? {
        guard let start = operands.optional(0)?.constant?.doubles().first, let limit = operands.optional(1)?.constant?.doubles().first,
            let delta = operands.optional(2)?.constant?.doubles().first
        else { return nil }
        guard delta != 0, let count = Int(exactly: ((limit - start) / delta).rounded(.up)) else {
            throw OperatorError(.invalidAttribute, "range from \(start) to \(limit) by \(delta)")
        }
        return Swift.max(count, 0)
    }

    public func inferValues(_ operands: Operands) throws -> [SymbolicTensor?] {
        guard let start = operands.value(0)?.elements.first, let delta = operands.value(2)?.elements.first,
            let count = try inferTypes(operands)[0].dims[0].fixedValue, count <= SymbolicTensor.maximumCount
        else { return [] }
        guard let elements = try? (0..<count).map({ try start + .fixed($0) * delta }), let dtype = operands.optional(0)?.type.dtype else { return [] }
        return [SymbolicTensor(elements)?.held(by: dtype)]
    }
}

extension Arange {
    public func evaluate(_ inputs: Inputs) throws -> [Tensor] {
        let output = try output(for: inputs)
        let count = output.shape[0]
        let (start, delta) = (try inputs[0], try inputs[2])
        if output.dtype.isFloat {
            let (first, step) = (start.doubles()[0], delta.doubles()[0])
            return [try Tensor(doubles: (0..<count).map { first + Double($0) * step }, dtype: output.dtype, shape: output.shape)]
        }
        let (first, step) = (start.integers()[0], delta.integers()[0])
        return [try Tensor(integers: (0..<count).map { first &+ Int64($0) &* step }, dtype: output.dtype, shape: output.shape)]
    }
}
