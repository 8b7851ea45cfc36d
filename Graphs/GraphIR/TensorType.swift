import Tensors

/// Element type and dims of a value: `f32[batch, sequence, 384]`. The rank is always known.
public struct TensorType: Sendable, Hashable, CustomStringConvertible {
    public var dtype: DType
    public var dims: [Dim]

    public init(_ dtype: DType, _ dims: [Dim]) {
        self.dtype = dtype
        self.dims = dims
    }

    public init(_ dtype: DType, shape: [Int]) {
        self.init(dtype, shape.map { .fixed($0) })
    }

    public var rank: Int { dims.count }

    /// The sizes, when all of them are numbers.
    public var shape: [Int]? {
        var sizes: [Int] = []
        sizes.reserveCapacity(dims.count)
        for dim in dims {
            guard let size = dim.fixedValue else { return nil }
            sizes.append(size)
        }
        return sizes
    }

    public var description: String { "\(dtype.rawValue)[\(dims.map(\.description).joined(separator: ", "))]" }
}
