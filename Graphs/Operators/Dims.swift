import GraphIR
import Tensors

/// An i64 tensor of dims, known as soon as the input shapes are: what shape arithmetic folds into. No operands.
public struct Dims: Operator {
    public let elements: [Dim]
    /// A single element as rank 0 instead of a vector.
    public let isScalar: Bool

    public init(_ elements: [Dim]) {
        self.elements = elements
        self.isScalar = false
    }

    public init(scalar: Dim) {
        self.elements = [scalar]
        self.isScalar = true
    }
    public static let name = "dims"
    public static let arity = 0...0

    private var shape: [Int] { isScalar && elements.count == 1 ? [] : [elements.count] }

    public func inferTypes(_ operands: Operands) throws -> [TensorType] { [TensorType(.i64, shape: shape)] }

    public func inferValues(_ operands: Operands) throws -> [SymbolicTensor?] {
        [SymbolicTensor(shape: shape, elements: elements)]
    }
}

extension Dims {
    /// - Throws: `OperatorError` while an element is an expression of symbols: binding them to numbers comes first.
    public func evaluate(_ inputs: Inputs) throws -> [Tensor] {
        let values = try elements.map { element in
            guard let value = element.fixedValue else {
                throw OperatorError(.unsupported, "dims [\(text(elements))] before their symbols are bound")
            }
            return Int64(value)
        }
        return [try Tensor(integers: values, shape: shape)]
    }
}
