import CKernels
import Foundation
import Testing

/// binary16 by the definition, in double precision; NaN for NaN.
private func half(_ bits: UInt16) -> Double {
    let sign: Double = bits & 0x8000 == 0 ? 1 : -1
    let exponent = Int(bits >> 10 & 31), mantissa = Double(bits & 1023)
    if exponent == 31 { return mantissa == 0 ? sign * .infinity : .nan }
    if exponent == 0 { return sign * mantissa * pow(2, -24) }
    return sign * (1024 + mantissa) * pow(2, Double(exponent - 25))
}

extension KernelTests {
    @Suite struct Convert {
        @Test func everyHalfToFloatAndBack() {
            let bits = (0...UInt16.max).map { $0 }
            forEachISA { isa in
                var floats = [Float](repeating: 0, count: bits.count)
                ck_f16_to_f32(bits.count, bits, &floats)
                var back = [UInt16](repeating: 0, count: bits.count)
                ck_f32_to_f16(floats.count, floats, &back)
                var wrong = 0
                for (b, f) in zip(bits, floats) {
                    let truth = half(b)
                    if truth.isNaN {
                        // Quiet, with sign and payload.
                        let expected = UInt32(b & 0x8000) << 16 | 0x7fc0_0000 | UInt32(b & 0x3ff) << 13
                        if f.bitPattern != expected { wrong += 1 }
                    } else if Double(f) != truth || (f.sign == .minus) != (b & 0x8000 != 0) {
                        wrong += 1
                    }
                    if back[Int(b)] != (truth.isNaN ? b | 0x200 : b) { wrong += 1 }
                }
                #expect(wrong == 0, "\(isa)")
            }
        }

        /// Between each pair of neighbouring halves: the middle goes to the even one, either side of it to the nearer.
        @Test func floatToHalfRoundsToNearestEven() {
            var x: [Float] = [], expected: [UInt16] = []
            for b in UInt16(0)..<0x7c00 {
                let low = half(b), high = b == 0x7bff ? 65536 : half(b + 1)
                let middle = Float((low + high) / 2)
                for sign: UInt16 in [0, 0x8000] {
                    let factor: Float = sign == 0 ? 1 : -1
                    x += [factor * middle.nextDown, factor * middle, factor * middle.nextUp]
                    expected += [b | sign, (b & 1 == 0 ? b : b + 1) | sign, (b + 1) | sign]
                }
            }
            x += [1e30, -.infinity, 0x1p-133, -.leastNonzeroMagnitude, 0, -0.0]
            expected += [0x7c00, 0xfc00, 0, 0x8000, 0, 0x8000]
            forEachISA { isa in
                var y = [UInt16](repeating: 0, count: x.count)
                ck_f32_to_f16(x.count, x, &y)
                #expect(y == expected, "\(isa)")
            }
        }

        @Test func bfloat16() {
            let bits = (0...UInt16.max).map { $0 }
            forEachISA { isa in
                var floats = [Float](repeating: 0, count: bits.count), back = bits
                ck_bf16_to_f32(bits.count, bits, &floats)
                #expect(zip(bits, floats).allSatisfy { $1.bitPattern == UInt32($0) << 16 }, "\(isa)")
                ck_f32_to_bf16(floats.count, floats, &back)
                #expect(zip(floats, zip(bits, back)).allSatisfy { $1.1 == ($0.isNaN ? $1.0 | 0x40 : $1.0) }, "\(isa)")

                let table: [(UInt32, UInt16)] = [
                    (0x3f80_7fff, 0x3f80), (0x3f80_8000, 0x3f80), (0x3f80_8001, 0x3f81), (0x3f81_8000, 0x3f82),
                    (0x7f7f_ffff, 0x7f80), (0xff7f_8000, 0xff80), (0x7f80_0001, 0x7fc0), (0xffff_ffff, 0xffff),
                    (0x0000_8001, 0x0001), (0x8000_8000, 0x8000),
                ]
                let x = table.map { Float(bitPattern: $0.0) }
                var y = [UInt16](repeating: 0, count: x.count)
                ck_f32_to_bf16(x.count, x, &y)
                #expect(y == table.map(\.1), "\(isa)")
            }
        }

        @Test func everyLength() {
            var numbers = Numbers(40)
            let x = numbers.floats(1000)
            forEachISA { isa in
                var wholeHalf = [UInt16](repeating: 0, count: 1000), wholeBfloat = wholeHalf
                ck_f32_to_f16(1000, x, &wholeHalf)
                ck_f32_to_bf16(1000, x, &wholeBfloat)
                for n in lengths {
                    var h = [UInt16](repeating: 9, count: n + 1), b = h
                    ck_f32_to_f16(n, x, &h)
                    ck_f32_to_bf16(n, x, &b)
                    #expect(h == wholeHalf[..<n] + [9] && b == wholeBfloat[..<n] + [9], "\(isa) n=\(n)")
                    var f = [Float](repeating: 9, count: n + 1)
                    ck_f16_to_f32(n, wholeHalf, &f)
                    #expect(zip(f, wholeHalf).prefix(n).allSatisfy { Double($0) == half($1) } && f[n] == 9, "\(isa) n=\(n)")
                }
            }
        }

        @Test func dequantize() {
            let signed = (Int8.min...Int8.max).map { $0 }, unsigned = (UInt8.min...UInt8.max).map { $0 }
            forEachISA { isa in
                for n in lengths where n <= 256 {
                    var y = [Float](repeating: 9, count: n + 1)
                    ck_dequantize_s8(n, signed, 0.037, -5, &y)
                    #expect(y == signed[..<n].map { Float(Int($0) + 5) * 0.037 } + [9], "\(isa) n=\(n)")
                    ck_dequantize_u8(n, unsigned, 1.7, 131, &y)
                    #expect(y == unsigned[..<n].map { Float(Int($0) - 131) * 1.7 } + [9], "\(isa) n=\(n)")
                }
            }
        }

        @Test func quantizeRoundsHalfToEvenAndSaturates() {
            let special: [Float] = [
                0, -0.0, 0.5, 1.5, 2.5, -0.5, -1.5, -2.5, 126.5, 127.5, 128, 1e9, -1e9, .infinity, -.infinity, .nan, 0x1p-133,
            ]
            var numbers = Numbers(41)
            let x = special + numbers.floats(1000, -300...300)
            forEachISA { isa in
                for scale in [Float(1), 0.5, 3.3] {
                    for zero in [Int32(0), 7, 100] {
                        for n in lengths {
                            var s = [Int8](repeating: 0, count: n), u = [UInt8](repeating: 0, count: n)
                            ck_quantize_s8(n, x, scale, zero, &s)
                            ck_quantize_u8(n, x, scale, zero, &u)
                            for i in 0..<n {
                                let rounded = x[i].isNaN ? 0 : (x[i] / scale).rounded(.toNearestOrEven)
                                let value = rounded + Float(zero)
                                #expect(Float(s[i]) == min(127, max(-128, value)), "\(isa) \(x[i]) / \(scale) + \(zero)")
                                #expect(Float(u[i]) == min(255, max(0, value)), "\(isa) \(x[i]) / \(scale) + \(zero)")
                            }
                        }
                    }
                }
            }
        }

        @Test func dynamicQuantization() {
            var numbers = Numbers(42)
            for range in [-1...2, 0.5...3, -3 ... -1] as [ClosedRange<Float>] {
                let x = numbers.floats(333, range)
                let low = min(0, x.min() ?? 0), high = max(0, x.max() ?? 0)
                forEachISA { isa in
                    var u = [UInt8](repeating: 0, count: x.count), s = [Int8](repeating: 0, count: x.count)
                    let unsigned = ck_dynamic_quantize_u8(x.count, x, &u), signed = ck_dynamic_quantize_s8(x.count, x, &s)
                    #expect(unsigned.scale == (high - low) / 255, "\(isa)")
                    #expect(unsigned.zero == Int32((-low / unsigned.scale).rounded(.toNearestOrEven)), "\(isa)")
                    #expect(signed.scale == max(-low, high) / 127 && signed.zero == 0, "\(isa)")
                    for i in x.indices {
                        #expect(abs((Float(u[i]) - Float(unsigned.zero)) * unsigned.scale - x[i]) <= unsigned.scale * 1.01, "\(isa)")
                        #expect(abs(Float(s[i]) * signed.scale - x[i]) <= signed.scale * 0.5001, "\(isa)")
                    }
                }
            }
            forEachISA { isa in
                for n in [0, 20] {
                    var u = [UInt8](repeating: 3, count: n), s = [Int8](repeating: 3, count: n)
                    let zeros = [Float](repeating: 0, count: n)
                    let a = ck_dynamic_quantize_u8(n, zeros, &u), b = ck_dynamic_quantize_s8(n, zeros, &s)
                    #expect(a.scale == 0 && a.zero == 0 && b.scale == 0 && u.allSatisfy { $0 == 0 } && s.allSatisfy { $0 == 0 }, "\(isa)")
                }
            }
        }
    }
}
