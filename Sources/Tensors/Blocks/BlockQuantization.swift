extension Tensor {
    /// The block types that tensors of elements can be quantised to.
    public static let quantizableTypes: [DType] = [.q8_0, .q4_0, .q4_1, .q4_k]

    /// The elements in blocks: q8_0, q4_0 and q4_1 as the reference implementation of GGML rounds them, q4_k by a weighted least squares fit.
    ///
    /// - Throws: `TensorError` for a type that nothing is quantised to, a last dimension that is no whole number of blocks, and values that are
    ///   not finite or too large for a block's f16 scale.
    public func quantized(to target: DType) throws -> Tensor {
        if target == dtype { return self }
        return try Tensor(floats: floats(), dtype: target, shape: shape)
    }
}

extension BlockFormat {
    /// Quantises whole blocks. `target` has the bytes of `values`, little endian.
    static func quantize(_ values: [Float], to dtype: DType, into target: UnsafeMutableRawBufferPointer) throws {
        guard Tensor.quantizableTypes.contains(dtype) else {
            let known = Tensor.quantizableTypes.map(\.rawValue).joined(separator: ", ")
            throw TensorError("nothing is quantised to \(dtype.rawValue), only to \(known)")
        }
        if let index = values.firstIndex(where: { !$0.isFinite }) {
            throw TensorError("element \(index) is \(values[index]), which \(dtype.rawValue) cannot hold")
        }
        let (elements, size) = (dtype.blockElements, dtype.blockBytes)
        guard let out = target.baseAddress?.assumingMemoryBound(to: UInt8.self), values.count % elements == 0,
            target.count == values.count / elements * size
        else { return }
        var group = GroupQuantizer()
        try values.withUnsafeBufferPointer { values in
            guard let values = values.baseAddress else { return }
            for block in 0..<target.count / size {
                let (source, out) = (values + block * elements, out + block * size)
                let fits: Bool
                switch dtype {
                case .q8_0: fits = q8_0(source, out)
                case .q4_0: fits = q4_0(source, out)
                case .q4_1: fits = q4_1(source, out)
                default: fits = group.q4_k(source, out)
                }
                guard fits else {
                    throw TensorError("elements from \(block * elements) on are too large for the 16-bit scale of a \(dtype.rawValue) block")
                }
            }
        }
    }

    /// - Returns: false where the number has no finite f16.
    static func store(_ value: Float, _ target: UnsafeMutablePointer<UInt8>) -> Bool {
        let bits = HalfPrecision.f16(from: value)
        target[0] = UInt8(truncatingIfNeeded: bits)
        target[1] = UInt8(truncatingIfNeeded: bits >> 8)
        return bits & 0x7C00 != 0x7C00
    }

    /// 0 for a scale that is 0 or so small that it has no reciprocal.
    static func reciprocal(_ scale: Float) -> Float {
        let result = 1 / scale
        return result.isFinite ? result : 0
    }

    private static func q8_0(_ source: UnsafePointer<Float>, _ target: UnsafeMutablePointer<UInt8>) -> Bool {
        var largest: Float = 0
        for index in 0..<32 { largest = max(largest, abs(source[index])) }
        let scale = largest / 127
        let inverse = reciprocal(scale)
        for index in 0..<32 {
            // Half away from zero.
            target[2 + index] = UInt8(bitPattern: Int8((source[index] * inverse).rounded(.toNearestOrAwayFromZero)))
        }
        return store(scale, target)
    }

    private static func q4_0(_ source: UnsafePointer<Float>, _ target: UnsafeMutablePointer<UInt8>) -> Bool {
        var extreme: Float = 0
        for index in 0..<32 where abs(source[index]) > abs(extreme) { extreme = source[index] }
        // The extreme becomes -8, the one end of the levels that has no twin.
        let scale = extreme / -8
        let inverse = reciprocal(scale)
        func level(_ index: Int) -> UInt8 { UInt8(min(15, max(0, source[index] * inverse + 8.5))) }
        for index in 0..<16 { target[2 + index] = level(index) | level(index + 16) << 4 }
        return store(scale, target)
    }

    private static func q4_1(_ source: UnsafePointer<Float>, _ target: UnsafeMutablePointer<UInt8>) -> Bool {
        var (low, high) = (source[0], source[0])
        for index in 1..<32 {
            low = min(low, source[index])
            high = max(high, source[index])
        }
        let scale = (high - low) / 15
        let inverse = reciprocal(scale)
        func level(_ index: Int) -> UInt8 { UInt8(min(15, max(0, (source[index] - low) * inverse + 0.5))) }
        for index in 0..<16 { target[4 + index] = level(index) | level(index + 16) << 4 }
        // Both are stored whatever the first says.
        let fits = [store(scale, target), store(low, target + 2)]
        return !fits.contains(false)
    }
}
