import CKernels
import Testing

private let shapes: [(m: Int, n: Int, k: Int)] = [
    (0, 3, 3), (3, 0, 3), (2, 3, 0), (1, 1, 1), (1, 40, 7), (2, 16, 2), (3, 17, 33), (4, 31, 64), (5, 20, 9), (7, 48, 100),
    (9, 5, 1025), (4, 18, 2049),
]

extension KernelTests {
    @Suite struct Int8Products {
        /// Bytes as numbers, by their type.
        private static func value(_ byte: UInt8, _ type: ck_byte) -> Int {
            type == ck_u8 ? Int(byte) : Int(Int8(bitPattern: byte))
        }

        @Test(arguments: [ck_s8.rawValue, ck_u8.rawValue], [ck_s8.rawValue, ck_u8.rawValue])
        func exactForEveryShape(_ aType: UInt32, _ bType: UInt32) {
            let aType = ck_byte(rawValue: aType), bType = ck_byte(rawValue: bType)
            var numbers = Numbers(50)
            for (m, n, k) in shapes {
                for transposed in [false, true] {
                    let lda = k + 1, ldb = (transposed ? k : n) + 2
                    let extremes: [UInt8] = [0, 255, 127, 128]
                    func bytes(_ count: Int) -> [UInt8] {
                        (0..<count).map { _ in
                            Bool.random(using: &numbers)
                                ? extremes[Int.random(in: 0..<4, using: &numbers)] : UInt8.random(in: 0...255, using: &numbers)
                        }
                    }
                    let a = bytes(m * lda), b = bytes((transposed ? n : k) * ldb)
                    let zeroA = bytes(m).map { Int32(Self.value($0, aType)) }
                    let zeroB = bytes(n).map { Int32(Self.value($0, bType)) }
                    var packed = [Int8](repeating: 99, count: ck_packed_size_int8(k, n))
                    ck_pack_b_int8(bType, transposed, k, n, b, ldb, &packed)
                    for form in 0..<3 {  // no zero points, one for all, one each
                        let truth = (0..<m).map { i in
                            (0..<n).map { j in
                                let za = form == 0 ? 0 : Int(zeroA[form == 1 ? 0 : i])
                                let zb = form == 0 ? 0 : Int(zeroB[form == 1 ? 0 : j])
                                return Int32(
                                    (0..<k).reduce(0) {
                                        $0 + (Self.value(a[i * lda + $1], aType) - za)
                                            * (Self.value(b[transposed ? j * ldb + $1 : $1 * ldb + j], bType) - zb)
                                    })
                            }
                        }
                        forEachISA { isa in
                            for step in [16, n + 16] {
                                var c = [Int32](repeating: 77, count: m * (n + 1))
                                a.withUnsafeBufferPointer { ap in
                                    zeroA.withUnsafeBufferPointer { zap in
                                        zeroB.withUnsafeBufferPointer { zbp in
                                            packed.withUnsafeBufferPointer { pp in
                                                var rows = ck_int8_rows(
                                                    data: ap.baseAddress, ld: lda, type: aType,
                                                    zero: form == 0 ? nil : zap.baseAddress, zero_step: form == 2 ? 1 : 0)
                                                var columns = ck_int8_columns(
                                                    packed: pp.baseAddress, type: bType,
                                                    zero: form == 0 ? nil : zbp.baseAddress, zero_step: form == 2 ? 1 : 0)
                                                for j in stride(from: 0, to: n, by: step / 16 * 16) {
                                                    ck_gemm_int8(
                                                        0, m, j, min(n, j + step / 16 * 16), n, k, &rows, &columns, &c, n + 1)
                                                }
                                            }
                                        }
                                    }
                                }
                                let right = (0..<m).allSatisfy { i in
                                    c[i * (n + 1)..<i * (n + 1) + n].elementsEqual(truth[i]) && c[i * (n + 1) + n] == 77
                                }
                                #expect(right, "\(isa) \(m)x\(n)x\(k) form \(form) transposed \(transposed)")
                            }
                        }
                    }
                }
            }
        }

        @Test func sumsToFloats() {
            var numbers = Numbers(51)
            let c = (0..<1000).map { _ in Int32.random(in: -5_000_000...5_000_000, using: &numbers) }
            let scale = numbers.floats(1000, 1e-4...1e-3), bias = numbers.floats(1000)
            forEachISA { isa in
                for n in lengths {
                    for step in [0, 1] {
                        for withBias in [false, true] {
                            var y = [Float](repeating: 9, count: n + 1)
                            ck_dequantize_sums(n, c, 0.5, scale, step, withBias ? bias : nil, ck_relu, &y)
                            for i in 0..<n {
                                let x = Double(c[i]) * 0.5 * Double(scale[i * step]) + (withBias ? Double(bias[i]) : 0)
                                #expect(abs(Double(y[i]) - max(0, x)) <= 3e-7 * (abs(x) + 1), "\(isa) n=\(n)")
                            }
                            #expect(y[n] == 9)
                        }
                    }
                }
            }
        }

        @Test func requantize() {
            var numbers = Numbers(52)
            let c = [Int32.min, .max, 0, 1, 3, 5] + (0..<1000).map { _ in Int32.random(in: -900...900, using: &numbers) }
            let multiplier = [Float](repeating: 0.5, count: 6) + numbers.floats(1000, 0.01...0.5)
            forEachISA { isa in
                for n in lengths {
                    for step in [0, 1] {
                        var s = [Int8](repeating: 9, count: n + 1), u = [UInt8](repeating: 9, count: n + 1)
                        ck_requantize_s8(n, c, multiplier, step, -3, &s)
                        ck_requantize_u8(n, c, multiplier, step, 120, &u)
                        for i in 0..<n {
                            let rounded = (Float(c[i]) * multiplier[i * step]).rounded(.toNearestOrEven)
                            #expect(Float(s[i]) == min(127, max(-128, rounded - 3)), "\(isa) \(c[i])")
                            #expect(Float(u[i]) == min(255, max(0, rounded + 120)), "\(isa) \(c[i])")
                        }
                        #expect(s[n] == 9 && u[n] == 9)
                    }
                }
            }
        }
    }
}
