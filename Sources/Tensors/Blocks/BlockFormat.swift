/// The block formats of GGML (https://github.com/ggml-org/ggml/blob/master/src/ggml-common.h), little endian. `d` is the scale of a block and
/// `m` its offset, both f16; the first half of a block's elements lies in the low nibbles, the second half in the high ones:
///
///     q8_0  d, 32 x i8                          x = d q
///     q4_0  d, 16 bytes                         x = d (q - 8)
///     q4_1  d, m, 16 bytes                      x = d q + m
///     q5_0  d, 32 fifth bits, 16 bytes          x = d (q - 16)
///     q5_1  d, m, 32 fifth bits, 16 bytes       x = d q + m
///     q4_k  d, m, 8 x 6-bit scale and offset, 128 bytes              x = d scale q - m offset, in groups of 32
///     q5_k  d, m, 8 x 6-bit scale and offset, 32 bytes, 128 bytes    the same with fifth bits
///     q6_k  128 low nibbles, 64 x upper 2 bits, 16 x i8 scale, d     x = d scale (q - 32), in groups of 16
enum BlockFormat {
    /// Dequantises whole blocks, with the roundings of the reference implementation: equal bit for bit.
    ///
    /// - Parameter source: At least the bytes of `count` elements.
    static func dequantize(_ dtype: DType, _ source: UnsafeRawBufferPointer, _ count: Int, into out: UnsafeMutableBufferPointer<Float>) {
        guard let bytes = source.baseAddress?.assumingMemoryBound(to: UInt8.self), let target = out.baseAddress else { return }
        let (elements, size) = (dtype.blockElements, dtype.blockBytes)
        for block in 0..<count / elements {
            let (source, target) = (bytes + block * size, target + block * elements)
            switch dtype {
            case .q8_0: q8_0(source, target)
            case .q4_0: simple(source, target, offset: 8, hasMinimum: false, hasFifthBit: false)
            case .q4_1: simple(source, target, offset: 0, hasMinimum: true, hasFifthBit: false)
            case .q5_0: simple(source, target, offset: 16, hasMinimum: false, hasFifthBit: true)
            case .q5_1: simple(source, target, offset: 0, hasMinimum: true, hasFifthBit: true)
            case .q4_k: groups(source, target, hasFifthBit: false)
            case .q5_k: groups(source, target, hasFifthBit: true)
            case .q6_k: q6_k(source, target)
            case .f64, .f32, .f16, .bf16, .i64, .i32, .i16, .i8, .u64, .u32, .u16, .u8, .bool: return
            }
        }
    }

    private static func half(_ source: UnsafePointer<UInt8>) -> Float {
        HalfPrecision.float(fromF16: UInt16(source[0]) | UInt16(source[1]) << 8)
    }

    private static func q8_0(_ source: UnsafePointer<UInt8>, _ target: UnsafeMutablePointer<Float>) {
        let scale = half(source)
        for index in 0..<32 { target[index] = scale * Float(Int8(bitPattern: source[2 + index])) }
    }

    private static func simple(
        _ source: UnsafePointer<UInt8>, _ target: UnsafeMutablePointer<Float>, offset: Int, hasMinimum: Bool, hasFifthBit: Bool
    ) {
        let scale = half(source)
        let minimum = hasMinimum ? half(source + 2) : 0
        let upper = source + (hasMinimum ? 4 : 2)
        let nibbles = upper + (hasFifthBit ? 4 : 0)
        for index in 0..<32 {
            var value = Int(index < 16 ? nibbles[index] & 15 : nibbles[index - 16] >> 4)
            if hasFifthBit { value |= Int(upper[index / 8] >> UInt8(index % 8) & 1) << 4 }
            let product = scale * Float(value - offset)
            target[index] = hasMinimum ? product + minimum : product
        }
    }

    /// The 6-bit scale and offset of a group of q4_k and q5_k: those of the first four groups in the low bits of bytes 0 to 7, of the others in
    /// the nibbles of bytes 8 to 11 with their upper two bits above the former.
    static func scaleAndOffset(_ packed: UnsafePointer<UInt8>, group: Int) -> (scale: UInt8, offset: UInt8) {
        if group < 4 { return (packed[group] & 63, packed[group + 4] & 63) }
        let low = packed[group + 4]
        return (low & 15 | (packed[group - 4] >> 6) << 4, low >> 4 | (packed[group] >> 6) << 4)
    }

    private static func groups(_ source: UnsafePointer<UInt8>, _ target: UnsafeMutablePointer<Float>, hasFifthBit: Bool) {
        let (scale, minimum) = (half(source), half(source + 2))
        let upper = source + 16
        let nibbles = upper + (hasFifthBit ? 32 : 0)
        for group in 0..<8 {
            let (factor, offset) = scaleAndOffset(source + 4, group: group)
            let (step, shift) = (scale * Float(factor), minimum * Float(offset))
            for index in 0..<32 {
                let byte = nibbles[group / 2 * 32 + index]
                var value = group % 2 == 0 ? byte & 15 : byte >> 4
                if hasFifthBit { value |= (upper[index] >> UInt8(group) & 1) << 4 }
                target[group * 32 + index] = step * Float(value) - shift
            }
        }
    }

    private static func q6_k(_ source: UnsafePointer<UInt8>, _ target: UnsafeMutablePointer<Float>) {
        let scale = half(source + 208)
        for group in 0..<16 {
            let step = scale * Float(Int8(bitPattern: source[192 + group]))
            for index in group * 16..<group * 16 + 16 {
                // Two halves of 128 elements, in each four rows of 32: rows 0 and 2 share low bytes, and so do 1 and 3.
                let (part, row, column) = (index / 128, index % 128 / 32, index % 32)
                let low = source[part * 64 + row % 2 * 32 + column]
                let high = source[128 + part * 32 + column] >> UInt8(row * 2) & 3
                let value = Int(row < 2 ? low & 15 : low >> 4) | Int(high) << 4
                target[index] = step * Float(value - 32)
            }
        }
    }
}
