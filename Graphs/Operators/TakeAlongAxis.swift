import GraphIR
import Tensors

/// The slices of x at `positions` of an axis, in that order. Every position lies inside the axis, or is nil: then the slice is filled with the
/// one element of `filler`.
func take(_ x: Tensor, axis: Int, positions: [Int?], filler: Tensor? = nil) throws -> Tensor {
    var shape = x.shape
    let size = shape[axis]
    shape[axis] = positions.count
    try Evaluation.checkSize(shape, x.dtype)
    let outer = try Shape.count(Array(shape[..<axis]))
    let block = try Shape.byteCount(Array(shape[(axis + 1)...]), x.dtype)
    let fillBytes = filler.map { $0.withUnsafeBytes(Array.init) } ?? [UInt8](repeating: 0, count: x.dtype.size)
    return try Tensor(dtype: x.dtype, shape: shape) { target in
        x.withUnsafeBytes { source in
            guard block > 0 else { return }
            for row in 0..<outer {
                for (place, position) in positions.enumerated() {
                    let start = (row * positions.count + place) * block
                    if let position {
                        let from = (row * size + position) * block
                        UnsafeMutableRawBufferPointer(rebasing: target[start..<start + block])
                            .copyMemory(from: UnsafeRawBufferPointer(rebasing: source[from..<from + block]))
                    } else {
                        for index in 0..<block { target[start + index] = fillBytes[index % fillBytes.count] }
                    }
                }
            }
        }
    }
}

/// An index that may count from the end as a position in an axis.
///
/// - Throws: `OperatorError` naming the index when it lies outside.
func position(_ index: Int64, size: Int) throws -> Int {
    let position = index < 0 ? Int(index) &+ size : Int(index)
    guard position >= 0, position < size else {
        throw OperatorError(.shapeMismatch, "index \(index) is outside a dimension of size \(size)")
    }
    return position
}

/// How an axis divides a row-major tensor: `outer` blocks of `size` slices of `inner` elements.
struct AxisSplit {
    let outer: Int
    let size: Int
    let inner: Int

    init(_ shape: [Int], axis: Int) throws {
        outer = try Shape.count(Array(shape[..<axis]))
        size = shape[axis]
        inner = try Shape.count(Array(shape[(axis + 1)...]))
    }
}
