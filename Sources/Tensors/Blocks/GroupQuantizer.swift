/// Quantises to q4_k: 256 elements in 8 groups, `x = d scale q - m offset` with 6-bit scales and offsets and 4-bit levels q.
///
/// Each group's scale and offset minimise the weighted square error: from several trial scales the levels follow by rounding, and from the
/// levels the best scale and offset by linear least squares. Weights grow with the magnitude, as large weights matter more to a product. The
/// scales are then rounded to 6 bits of the block's largest, and levels rounded anew.
struct GroupQuantizer {
    private static let groups = 8
    private static let size = 32
    private static let levels: Float = 15

    private var weights = [Float](repeating: 0, count: size)
    private var trial = [Float](repeating: 0, count: size)

    /// - Returns: false where a scale has no finite f16.
    mutating func q4_k(_ source: UnsafePointer<Float>, _ target: UnsafeMutablePointer<UInt8>) -> Bool {
        var scales = [Float](repeating: 0, count: Self.groups)
        var offsets = [Float](repeating: 0, count: Self.groups)
        for group in 0..<Self.groups { (scales[group], offsets[group]) = fit(source + group * Self.size) }
        let largest = (scales.max() ?? 0, offsets.max() ?? 0)
        guard BlockFormat.store(largest.0 / 63, target), BlockFormat.store(largest.1 / 63, target + 2) else { return false }
        // Levels go by what a reader will compute from the rounded numbers.
        let d = HalfPrecision.float(fromF16: UInt16(target[0]) | UInt16(target[1]) << 8)
        let m = HalfPrecision.float(fromF16: UInt16(target[2]) | UInt16(target[3]) << 8)
        for index in 4..<144 { target[index] = 0 }
        let packed = target + 4
        for group in 0..<Self.groups {
            let scale = Self.sixBits(scales[group] * BlockFormat.reciprocal(d))
            let offset = Self.sixBits(offsets[group] * BlockFormat.reciprocal(m))
            if group < 4 {
                packed[group] |= scale
                packed[group + 4] |= offset
            } else {
                packed[group + 4] = scale & 15 | (offset & 15) << 4
                packed[group - 4] |= (scale >> 4) << 6
                packed[group] |= (offset >> 4) << 6
            }
            let (step, shift) = (d * Float(scale), m * Float(offset))
            let inverse = BlockFormat.reciprocal(step)
            for index in 0..<Self.size {
                let level = Self.level((source[group * Self.size + index] + shift) * inverse)
                target[16 + group / 2 * 32 + index] |= UInt8(level) << UInt8(group % 2 * 4)
            }
        }
        return true
    }

    private static func sixBits(_ value: Float) -> UInt8 { UInt8(min(63, max(0, value.rounded()))) }
    private static func level(_ value: Float) -> Float { min(levels, max(0, value.rounded(.toNearestOrEven))) }

    /// Scale and offset, both not negative, for `x = scale q - offset`.
    private mutating func fit(_ x: UnsafePointer<Float>) -> (scale: Float, offset: Float) {
        // An offset can only be taken off: a group of positive numbers starts from 0.
        var (low, high): (Float, Float) = (0, x[0])
        var squares: Float = 0
        for index in 0..<Self.size {
            low = min(low, x[index])
            high = max(high, x[index])
            squares += x[index] * x[index]
        }
        guard high > low else { return (0, -low) }
        let typical = (squares / Float(Self.size)).squareRoot()
        for index in 0..<Self.size { weights[index] = typical + abs(x[index]) }
        let range = high - low
        var best = (scale: range / Self.levels, offset: -low)
        var bestError = error(x, best.scale, best.offset)
        // Levels that are a little too few or too many often leave less error than those that just span the range.
        for step in 0...20 {
            let inverse = (Self.levels - 1 + 0.1 * Float(step)) / range
            guard inverse.isFinite else { break }
            for index in 0..<Self.size { trial[index] = Self.level((x[index] - low) * inverse) }
            guard let candidate = solve(x) else { continue }
            let error = error(x, candidate.scale, candidate.offset)
            if error < bestError { (best, bestError) = (candidate, error) }
        }
        return best
    }

    /// The weighted square error with the nearest levels.
    private func error(_ x: UnsafePointer<Float>, _ scale: Float, _ offset: Float) -> Float {
        let inverse = BlockFormat.reciprocal(scale)
        var sum: Float = 0
        for index in 0..<Self.size {
            let difference = scale * Self.level((x[index] + offset) * inverse) - offset - x[index]
            sum += weights[index] * difference * difference
        }
        return sum
    }

    /// The least squares solution for the levels in `trial`; nil where they leave it open.
    private func solve(_ x: UnsafePointer<Float>) -> (scale: Float, offset: Float)? {
        var (w, q, qq, xs, xq): (Float, Float, Float, Float, Float) = (0, 0, 0, 0, 0)
        for index in 0..<Self.size {
            let (weight, level) = (weights[index], trial[index])
            w += weight
            q += weight * level
            qq += weight * level * level
            xs += weight * x[index]
            xq += weight * level * x[index]
        }
        let determinant = w * qq - q * q
        guard determinant > 0 else { return nil }
        var scale = (w * xq - q * xs) / determinant
        var offset = (q * xq - qq * xs) / determinant
        if offset < 0 {
            offset = 0
            scale = qq > 0 ? xq / qq : 0
        }
        return scale > 0 && scale.isFinite && offset.isFinite ? (scale, offset) : nil
    }
}
