import GraphIR
import Tensors

/// Element type and sizes of a value in a plan, where all of them are numbers.
struct ConcreteType: Sendable, Hashable, CustomStringConvertible {
    let dtype: DType
    let shape: [Int]
    let count: Int
    let byteCount: Int

    /// - Throws: `TensorError` where a size is negative or the product of the sizes overflows, also without those that are 0: kernels
    ///   may multiply any of them.
    init(_ dtype: DType, _ shape: [Int]) throws {
        self.dtype = dtype
        self.shape = shape
        count = try Shape.count(shape)
        var product = dtype.size
        for size in shape {
            let (next, overflow) = product.multipliedReportingOverflow(by: max(size, 1))
            guard !overflow else { throw TensorError("shape \(shape) has too many elements") }
            product = next
        }
        byteCount = try Shape.byteCount(shape, dtype)
    }

    init(_ tensor: Tensor) throws { try self.init(tensor.dtype, tensor.shape) }

    /// nil where a dim is not a number.
    init?(_ type: TensorType) throws {
        guard let shape = type.shape else { return nil }
        try self.init(type.dtype, shape)
    }

    var rank: Int { shape.count }
    var description: String { "\(dtype.rawValue)[\(shape.map(String.init).joined(separator: ", "))]" }
}
