import CKernels
import Testing

extension KernelTests {
    @Suite struct Int8Linear {
        private struct Layer {
            var packed: [Int8]
            var weight: [Int8]
            var scale: [Float]
            var zero: [Int8]

            init(k: Int, n: Int, _ numbers: inout Numbers) {
                let extremes: [Int8] = [-128, 127, 0, -1]
                weight = (0..<n * k).map { _ in
                    Bool.random(using: &numbers) ? extremes[Int.random(in: 0..<4, using: &numbers)] : Int8.random(in: -128...127, using: &numbers)
                }
                zero = (0..<n).map { _ in Int8.random(in: -128...127, using: &numbers) }
                scale = numbers.floats(n, 0.001...0.1)
                packed = Array(repeating: 99, count: ck_int8_linear_size(k, n))
                ck_pack_int8_linear(k, n, weight, &packed)
            }
        }

        /// Every instruction set gives the bits that exact sums and one rounding of each step give.
        @Test(arguments: [1, 2, 3, 7, 13, 16, 25, 40, 67])
        func equalsExactSumsEverywhere(m: Int) {
            var numbers = Numbers(UInt64(60 + m))
            for (k, n) in [(1, 1), (3, 17), (4, 16), (31, 40), (513, 17), (64, 48), (192, 33)] {
                let layer = Layer(k: k, n: n, &numbers)
                for type in [ck_s8, ck_u8] {
                    let x = (0..<m * k).map { _ in UInt8.random(in: 0...255, using: &numbers) }
                    let zero: Int32 = type == ck_u8 ? 201 : -17
                    let rowScale = numbers.floats(m, 0.001...0.1)
                    let numbersOfX = x.map { (type == ck_u8 ? Int($0) : Int(Int8(bitPattern: $0))) - Int(zero) }
                    let rowSums = (0..<m).map { numbersOfX[$0 * k..<$0 * k + k].reduce(0, +) }
                    let sums = (0..<m * n).map { element in
                        zip(numbersOfX[element / n * k..<element / n * k + k], layer.weight[element % n * k..<element % n * k + k])
                            .reduce(0) { $0 + $1.0 * Int($1.1) }
                    }
                    for (withZero, step) in [(false, 16), (true, 16), (true, 32), (false, 64)] {
                        let truth = (0..<m * n).map { element in
                            let (i, j) = (element / n, element % n)
                            return Float(sums[element] - (withZero ? Int(layer.zero[j]) * rowSums[i] : 0)) * (rowScale[i] * layer.scale[j])
                        }
                        forEachISA { isa in
                            let rowBytes = ck_int8_row_size(k)
                            withUnsafeTemporaryAllocation(byteCount: m * rowBytes, alignment: 64) { rows in
                                guard let start = rows.baseAddress else { return }
                                for i in 0..<m {
                                    x.withUnsafeBufferPointer { x in
                                        guard let x = x.baseAddress else { return }
                                        ck_int8_row_of(type, k, x + i * k, zero, rowScale[i], start + i * rowBytes)
                                    }
                                }
                                var c = [Float](repeating: 77, count: m * (n + 1))
                                layer.packed.withUnsafeBufferPointer { packed in
                                    layer.scale.withUnsafeBufferPointer { scale in
                                        layer.zero.withUnsafeBufferPointer { zeros in
                                            var weight = ck_int8_weight(
                                                packed: packed.baseAddress, scale: scale.baseAddress, zero: withZero ? zeros.baseAddress : nil)
                                            for j in stride(from: 0, to: n, by: step) {
                                                ck_int8_linear(j, min(n, j + step), k, &weight, m, start, &c, n + 1, nil)
                                            }
                                        }
                                    }
                                }
                                let right = (0..<m).allSatisfy { i in
                                    c[i * (n + 1)..<i * (n + 1) + n].elementsEqual(truth[i * n..<i * n + n]) && c[i * (n + 1) + n] == 77
                                }
                                #expect(right, "\(isa) \(m)x\(n)x\(k), zero points: \(withZero)")
                            }
                        }
                    }
                }
            }
        }

        @Test func epilogueRunsOnScaledSums() {
            var numbers = Numbers(61)
            let (m, n, k) = (30, 37, 640)
            let layer = Layer(k: k, n: n, &numbers)
            let bias = numbers.floats(n), residual = numbers.floats(m * n)
            let x = (0..<m * k).map { _ in UInt8.random(in: 0...255, using: &numbers) }
            forEachISA { isa in
                let rowBytes = ck_int8_row_size(k)
                var plain = [Float](repeating: 0, count: m * n), whole = plain
                withUnsafeTemporaryAllocation(byteCount: m * rowBytes, alignment: 64) { rows in
                    guard let start = rows.baseAddress else { return }
                    x.withUnsafeBufferPointer { x in
                        guard let x = x.baseAddress else { return }
                        for i in 0..<m { ck_int8_row_of(ck_s8, k, x + i * k, 0, 1e-3, start + i * rowBytes) }
                    }
                    layer.packed.withUnsafeBufferPointer { packed in
                        layer.scale.withUnsafeBufferPointer { scale in
                            bias.withUnsafeBufferPointer { bias in
                                residual.withUnsafeBufferPointer { residual in
                                    var weight = ck_int8_weight(packed: packed.baseAddress, scale: scale.baseAddress, zero: nil)
                                    var epilogue = ck_epilogue(
                                        bias: bias.baseAddress, activation: ck_relu, residual: residual.baseAddress, residual_ld: n, accumulate: false)
                                    ck_int8_linear(0, n, k, &weight, m, start, &plain, n, nil)
                                    ck_int8_linear(0, n, k, &weight, m, start, &whole, n, &epilogue)
                                }
                            }
                        }
                    }
                }
                let right = (0..<m * n).allSatisfy { whole[$0] == max(0, plain[$0] + bias[$0 % n]) + residual[$0] }
                #expect(right, "\(isa)")
            }
        }

        @Test func sizesThatDoNotFit() {
            #expect(ck_int8_linear_size(5, 17) == 8 * 32)
            #expect(ck_int8_linear_size(.max, 1) == 0 && ck_int8_linear_size(1, .max) == 0)
            #expect(ck_int8_row_size(.max) == 0 && ck_int8_row_size(1) == 128 && ck_int8_row_size(32) == 128 && ck_int8_row_size(33) == 192)
        }
    }
}
