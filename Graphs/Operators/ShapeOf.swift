import GraphIR
import Tensors

/// The sizes `start..<end` of a tensor as an i64 vector.
public struct ShapeOf: Operator {
    public let start: Int
    /// nil: to the last dim.
    public let end: Int?

    public init(start: Int = 0, end: Int? = nil) {
        self.start = start
        self.end = end
    }
    public static let name = "shape"
    public static let arity = 1...1

    private func dims(_ operands: Operands) throws -> ArraySlice<Dim> {
        let dims = try operands.type(0).dims
        let (first, count) = Slice.bounds(size: dims.count, start: start, end: end ?? dims.count, step: 1)
        return dims[first..<first + count]
    }

    public func inferTypes(_ operands: Operands) throws -> [TensorType] { [TensorType(.i64, shape: [try dims(operands).count])] }

    public func inferValues(_ operands: Operands) throws -> [SymbolicTensor?] { [SymbolicTensor(Array(try dims(operands)))] }
}

extension ShapeOf {
    public func evaluate(_ inputs: Inputs) throws -> [Tensor] {
        let sizes = try dims(inputs.operands).compactMap(\.fixedValue).map(Int64.init)
        return [try Tensor(integers: sizes, shape: [sizes.count])]
    }
}
