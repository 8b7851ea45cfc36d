import Tensors
import TestSupport

extension SeededRandom {
    /// Floats in -2...2, integers in -5...5 (0...10 unsigned), bools.
    mutating func tensor(_ dtype: DType, _ shape: [Int], positive: Bool = false) throws -> Tensor {
        let count = try Shape.count(shape)
        if dtype.isFloat {
            let values = (0..<count).map { _ in Float.random(in: positive ? 0.25...2 : -2...2, using: &self) }
            return try Tensor(floats: values, dtype: dtype, shape: shape)
        }
        if dtype == .bool { return try Tensor(bools: (0..<count).map { _ in Bool.random(using: &self) }, shape: shape) }
        let range: ClosedRange<Int64> = dtype.isUnsigned || positive ? 0...10 : -5...5
        return try Tensor(integers: (0..<count).map { _ in Int64.random(in: range, using: &self) }, dtype: dtype, shape: shape)
    }

    mutating func indices(below count: Int, _ shape: [Int], dtype: DType = .i64) throws -> Tensor {
        let values = (0..<(try Shape.count(shape))).map { _ in Int64.random(in: 0..<Int64(count), using: &self) }
        return try Tensor(integers: values, dtype: dtype, shape: shape)
    }
}

/// The largest difference relative to max(1, |expected|); infinite where types, shapes, NaNs or infinities differ.
func difference(_ actual: Tensor, _ expected: Tensor) -> Double {
    guard actual.dtype == expected.dtype, actual.shape == expected.shape else { return .infinity }
    var worst = 0.0
    for (a, b) in zip(actual.doubles(), expected.doubles()) {
        if a == b || (a.isNaN && b.isNaN) { continue }
        let error = abs(a - b) / max(1, abs(b))
        if !(error <= worst) { worst = error.isNaN ? .infinity : error }
    }
    return worst
}
