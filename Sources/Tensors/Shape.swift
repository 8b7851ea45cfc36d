/// Errors of tensors and shapes that are no fault of a file's syntax.
public struct TensorError: Error, Sendable, Hashable, CustomStringConvertible {
    public let description: String
    public init(_ description: String) { self.description = description }
}

/// Arithmetic on concrete shapes (dimension sizes, outermost first), checked for overflow.
public enum Shape {
    /// The number of elements.
    ///
    /// - Throws: `TensorError` for a negative size or a product beyond `Int`.
    public static func count(_ shape: [Int]) throws -> Int {
        var count = 1
        for size in shape {
            guard size >= 0 else { throw TensorError("shape \(shape) has a negative dimension") }
            let (product, overflow) = count.multipliedReportingOverflow(by: size)
            guard !overflow else { throw TensorError("shape \(shape) has too many elements") }
            count = product
        }
        return count
    }

    /// The bytes of a dense tensor.
    ///
    /// - Throws: `TensorError` as `count`, and where the last dimension is no whole number of blocks.
    public static func byteCount(_ shape: [Int], _ dtype: DType) throws -> Int {
        let count = try count(shape)
        guard dtype.blockElements == 1 || (shape.last ?? 1) % dtype.blockElements == 0 else {
            throw TensorError(
                "a tensor of type \(dtype.rawValue) and shape \(shape): its last dimension must be a multiple of \(dtype.blockElements)")
        }
        guard let bytes = dtype.byteCount(forElements: count) else { throw TensorError("shape \(shape) has too many elements") }
        return bytes
    }

    /// Elements to skip for one step along each dimension, row-major.
    public static func strides(_ shape: [Int]) -> [Int] {
        var strides = [Int](repeating: 1, count: shape.count)
        for index in stride(from: shape.count - 2, through: 0, by: -1) {
            strides[index] = strides[index + 1] &* max(shape[index + 1], 1)
        }
        return strides
    }

    /// Strides that read a tensor of `shape` as if it had the shape `target` (numpy broadcasting): 0 where it repeats.
    public static func broadcastStrides(_ shape: [Int], to target: [Int]) -> [Int] {
        let own = strides(shape)
        let lead = target.count - shape.count
        return target.indices.map { index in
            index < lead || shape[index - lead] == 1 ? 0 : own[index - lead]
        }
    }

    /// The common shape of two operands under numpy broadcasting.
    public static func broadcast(_ a: [Int], _ b: [Int]) throws -> [Int] {
        let rank = max(a.count, b.count)
        return try (0..<rank).map { index in
            let x = index < rank - a.count ? 1 : a[index - (rank - a.count)]
            let y = index < rank - b.count ? 1 : b[index - (rank - b.count)]
            if x == y || y == 1 { return x }
            if x == 1 { return y }
            throw TensorError("shapes \(a) and \(b) do not broadcast")
        }
    }

    /// A dimension index that may count from the end, as one from the start.
    public static func normalize(axis: Int, rank: Int) throws -> Int {
        let result = axis < 0 ? axis &+ rank : axis
        guard result >= 0, result < rank else { throw TensorError("axis \(axis) is outside a tensor of rank \(rank)") }
        return result
    }
}
