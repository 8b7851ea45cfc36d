extension Tensor {
    /// A matrix of whole numbers times scales, `level * scale`, in the smallest blocks that hold exactly these numbers: q4_0, q5_0 or q8_0.
    ///
    /// - Parameters:
    ///   - levels: Row by row.
    ///   - scales: One for each `group` levels of a row, row by row; the last group of a row may be shorter.
    /// - Throws: `TensorError` that says which part of it no block holds.
    public init(levels: [Int16], scales: [Float], group: Int, shape: [Int]) throws {
        guard shape.count == 2, shape.allSatisfy({ $0 >= 0 && $0 <= levels.count }), levels.count == shape[0] * shape[1], group > 0, group <= 1 << 40, scales.count == shape[0] * ((shape[1] + group - 1) / group) else {
            throw TensorError("\(levels.count) levels and \(scales.count) scales for groups of \(group) are no matrix of shape \(shape)")
        }
        let (width, perRow) = (shape[1], (shape[1] + group - 1) / group)
        guard width % 32 == 0 else { throw TensorError("its rows of \(width) are no whole number of blocks of 32") }
        guard group % 32 == 0 || perRow == 1 else { throw TensorError("its groups of \(group) are no whole number of blocks of 32") }
        let halves = scales.map { HalfPrecision.f16(from: $0) }
        guard zip(scales, halves).allSatisfy({ $0.isFinite && HalfPrecision.float(fromF16: $1) == $0 }) else {
            throw TensorError("its scales have more digits than the 16-bit floats of blocks")
        }
        let (least, greatest) = (levels.min() ?? 0, levels.max() ?? 0)
        guard least >= -128, greatest <= 127 else { throw TensorError("its levels do not fit in 8 bits once their zero points are taken away") }
        let dtype: DType = least >= -8 && greatest <= 7 ? .q4_0 : least >= -16 && greatest <= 15 ? .q5_0 : .q8_0
        try self.init(dtype: dtype, shape: shape) { target in
            guard let out = target.baseAddress?.assumingMemoryBound(to: UInt8.self), target.count == levels.count / 32 * dtype.blockBytes else { return }
            for block in 0..<levels.count / 32 {
                let (row, column) = (block * 32 / width, block * 32 % width)
                let half = halves[row * perRow + column / group]
                let place = out + block * dtype.blockBytes
                (place[0], place[1]) = (UInt8(truncatingIfNeeded: half), UInt8(truncatingIfNeeded: half >> 8))
                BlockFormat.pack(levels[block * 32..<block * 32 + 32], as: dtype, into: place + 2)
            }
        }
    }
}

extension BlockFormat {
    /// The 32 levels of one block behind its scale.
    fileprivate static func pack(_ levels: ArraySlice<Int16>, as dtype: DType, into target: UnsafeMutablePointer<UInt8>) {
        let first = levels.startIndex
        if dtype == .q8_0 {
            for index in 0..<32 { target[index] = UInt8(truncatingIfNeeded: levels[first + index]) }
            return
        }
        let offset: Int16 = dtype == .q4_0 ? 8 : 16
        let nibbles = dtype == .q4_0 ? target : target + 4
        if dtype == .q5_0 {
            for byte in 0..<4 {
                target[byte] = (0..<8).reduce(0) { $0 | UInt8(truncatingIfNeeded: (levels[first + byte * 8 + $1] + offset) >> 4 & 1) << UInt8($1) }
            }
        }
        for index in 0..<16 {
            let (low, high) = (levels[first + index] + offset, levels[first + index + 16] + offset)
            nibbles[index] = UInt8(truncatingIfNeeded: low & 15) | UInt8(truncatingIfNeeded: high & 15) << 4
        }
    }
}
