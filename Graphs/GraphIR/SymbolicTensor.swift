import Tensors

/// The elements of a small integer or bool tensor as far as inference knows them: each a dim expression. This is how
/// the arithmetic on shapes that exporters spell out (Shape, Gather, Concat, Reshape) disappears.
public struct SymbolicTensor: Sendable, Hashable {
    /// Larger tensors are data, not shapes.
    public static let maximumCount = 256

    public let shape: [Int]
    public let elements: [Dim]

    /// nil where the element count is not that of the shape, or too large.
    public init?(shape: [Int], elements: [Dim]) {
        guard elements.count <= Self.maximumCount, (try? Shape.count(shape)) == elements.count else { return nil }
        self.shape = shape
        self.elements = elements
    }

    /// A vector.
    public init?(_ elements: [Dim]) { self.init(shape: [elements.count], elements: elements) }

    /// The contents of an integer or bool tensor.
    public init?(_ tensor: Tensor) {
        guard tensor.dtype.isInteger || tensor.dtype == .bool, tensor.count <= Self.maximumCount else { return nil }
        let values = tensor.integers()
        // The upper half of u64 has no place in `Int`.
        if tensor.dtype == .u64, values.contains(where: { $0 < 0 }) { return nil }
        self.init(shape: tensor.shape, elements: values.map { .fixed(Int($0)) })
    }

    /// The numbers, when all elements are numbers.
    public var fixedValues: [Int]? {
        var values: [Int] = []
        for element in elements {
            guard let value = element.fixedValue else { return nil }
            values.append(value)
        }
        return values
    }

    /// The value as a tensor, when all elements are numbers.
    public func tensor(dtype: DType) -> Tensor? {
        guard let values = fixedValues else { return nil }
        return try? Tensor(integers: values.map(Int64.init), dtype: dtype, shape: shape)
    }
}
