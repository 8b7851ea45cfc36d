/// Conversions of the two 16-bit float formats by their bits, so that they exist on every platform.
public enum HalfPrecision {
    /// IEEE 754 binary16 to binary32; exact.
    @inlinable
    public static func float(fromF16 bits: UInt16) -> Float {
        let sign = UInt32(bits & 0x8000) << 16
        let exponent = UInt32(bits >> 10) & 0x1F
        let fraction = UInt32(bits & 0x3FF)
        switch exponent {
        case 0:
            // Zero and subnormals: fraction * 2^-24.
            let magnitude = Float(fraction) * 0x1p-24
            return Float(bitPattern: sign | magnitude.bitPattern)
        case 0x1F:
            return Float(bitPattern: sign | 0x7F80_0000 | fraction << 13)
        default:
            return Float(bitPattern: sign | (exponent + 112) << 23 | fraction << 13)
        }
    }

    /// IEEE 754 binary32 to binary16, rounding to nearest even.
    @inlinable
    public static func f16(from value: Float) -> UInt16 {
        let bits = value.bitPattern
        let sign = UInt16(truncatingIfNeeded: bits >> 16) & 0x8000
        let magnitude = bits & 0x7FFF_FFFF
        if magnitude > 0x7F80_0000 { return sign | 0x7E00 | UInt16(truncatingIfNeeded: (magnitude >> 13) & 0x3FF) }
        // 65520 is half way between the largest finite value and the next step; it rounds to infinity.
        if magnitude >= 0x477F_F000 { return sign | 0x7C00 }
        if magnitude < 0x3880_0000 {
            // Below 2^-14: adding 0.5 leaves the subnormal's bits, rounded to even, at the low end of the sum.
            let sum = Float(bitPattern: magnitude) + 0.5
            return sign | UInt16(truncatingIfNeeded: sum.bitPattern &- Float(0.5).bitPattern)
        }
        let odd = (magnitude >> 13) & 1
        let rounded = magnitude &+ 0xFFF &+ odd &- (112 << 23)
        return sign | UInt16(truncatingIfNeeded: rounded >> 13)
    }

    /// bfloat16 to binary32; exact.
    @inlinable
    public static func float(fromBF16 bits: UInt16) -> Float { Float(bitPattern: UInt32(bits) << 16) }

    /// binary32 to bfloat16, rounding to nearest even; a NaN stays a NaN.
    @inlinable
    public static func bf16(from value: Float) -> UInt16 {
        let bits = value.bitPattern
        if value.isNaN { return UInt16(truncatingIfNeeded: bits >> 16) | 0x40 }
        return UInt16(truncatingIfNeeded: (bits &+ 0x7FFF &+ ((bits >> 16) & 1)) >> 16)
    }
}
