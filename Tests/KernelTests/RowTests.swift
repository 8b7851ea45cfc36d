import CKernels
import Foundation
import Testing

private func softmax(_ x: ArraySlice<Float>) -> [Double] {
    let largest = Double(x.max() ?? 0)
    let e = x.map { exp(Double($0) - largest) }
    let sum = e.reduce(0, +)
    return e.map { $0 / sum }
}

/// Layer norm (or, without centring, RMS norm) in double precision.
private func normalized(_ v: [Double], centred: Bool, epsilon: Double) -> [Double] {
    let n = Double(v.count)
    let mean = centred ? v.reduce(0, +) / n : 0
    let variance = v.reduce(0) { $0 + ($1 - mean) * ($1 - mean) } / n
    return v.map { ($0 - mean) / (variance + epsilon).squareRoot() }
}

extension KernelTests {
    @Suite struct Rows {
        @Test func softmaxOfEveryLength() {
            var numbers = Numbers(10)
            let x = numbers.floats(1000, -20...20)
            forEachISA { isa in
                for n in lengths {
                    let truth = softmax(x[..<n]), largest = x[..<n].max() ?? 0
                    var y = x, l = x
                    y.withUnsafeMutableBufferPointer { ck_softmax_f32(n, $0.baseAddress, $0.baseAddress) }
                    l.withUnsafeMutableBufferPointer { ck_log_softmax_f32(n, $0.baseAddress, $0.baseAddress) }
                    for i in 0..<n {
                        let bound = 1e-6 + 1e-7 * Double(largest - x[i])
                        #expect(abs(Double(y[i]) - truth[i]) <= bound * truth[i], "\(isa) n=\(n)")
                        let logTruth = log(truth[i])
                        #expect(abs(Double(l[i]) - logTruth) <= 1e-6 * max(1, abs(logTruth)), "\(isa) log n=\(n)")
                    }
                    #expect(y[n...].elementsEqual(x[n...]) && l[n...].elementsEqual(x[n...]))
                }
            }
        }

        @Test func softmaxOfSpecialRows() {
            let inf = Float.infinity
            forEachISA { isa in
                for n in [1, 3, 8, 19] {
                    var y = [Float](repeating: 0, count: n)
                    // Equal, even if enormous: uniform.
                    ck_softmax_f32(n, [Float](repeating: -.greatestFiniteMagnitude, count: n), &y)
                    #expect(y.allSatisfy { abs($0 - 1 / Float(n)) < 1e-7 }, "\(isa)")
                    ck_softmax_f32(n, [Float](repeating: -inf, count: n), &y)
                    #expect(y.allSatisfy { $0.isNaN }, "\(isa)")
                    ck_log_softmax_f32(n, [Float](repeating: -inf, count: n), &y)
                    #expect(y.allSatisfy { $0.isNaN }, "\(isa)")
                    var x = [Float](repeating: 1, count: n)
                    x[n - 1] = .nan
                    ck_softmax_f32(n, x, &y)
                    #expect(y.allSatisfy { $0.isNaN }, "\(isa)")
                    x[n - 1] = inf
                    ck_softmax_f32(n, x, &y)
                    #expect(y[n - 1].isNaN, "\(isa)")
                }
                var y: [Float] = [9, 9, 9]
                ck_softmax_f32(3, [0, -inf, 0], &y)
                #expect(y == [0.5, 0, 0.5], "\(isa)")
                ck_log_softmax_f32(3, [0, -inf, -1000], &y)
                #expect(y == [0, -inf, -1000], "\(isa)")
            }
        }

        @Test(arguments: [false, true], [false, true])
        func normalizationOfEveryLength(_ withResidual: Bool, _ withSum: Bool) {
            var numbers = Numbers(11)
            let x = numbers.floats(1000, -3...5), residual = numbers.floats(1000), scale = numbers.floats(1000)
            let bias = numbers.floats(1000)
            forEachISA { isa in
                for n in lengths where n > 0 {
                    let v = (0..<n).map { Float(x[$0] + (withResidual ? residual[$0] : 0)) }
                    for centred in [true, false] {
                        let truth = normalized(v.map(Double.init), centred: centred, epsilon: 1e-5)
                        for plain in [true, false] {
                            var y = [Float](repeating: 7, count: n + 1), sum = y
                            let r = withResidual ? residual : nil, s = plain ? nil : scale, b = plain ? nil : bias
                            sum.withUnsafeMutableBufferPointer { sums in
                                let out = withSum ? sums.baseAddress : nil
                                if centred {
                                    ck_layer_norm_f32(n, x, r, s, b, 1e-5, &y, out)
                                } else {
                                    ck_rms_norm_f32(n, x, r, s, 1e-5, &y, out)
                                }
                            }
                            for i in 0..<n {
                                let scaled = truth[i] * (plain ? 1 : Double(scale[i]))
                                let expected = scaled + (plain || !centred ? 0 : Double(bias[i]))
                                let bound = 2e-6 * (plain ? 1 : abs(Double(scale[i]))) * max(1, abs(truth[i])) + 1.2e-7
                                #expect(abs(Double(y[i]) - expected) <= bound, "\(isa) n=\(n) i=\(i)")
                            }
                            #expect(y[n] == 7 && sum[n] == 7)
                            #expect(sum[..<n].elementsEqual(withSum ? v[...] : ArraySlice(repeating: 7, count: n)))
                        }
                    }
                }
            }
        }

        @Test func normalizationInPlace() {
            var numbers = Numbers(12)
            let x = numbers.floats(50), residual = numbers.floats(50)
            forEachISA { isa in
                var expected = x, inPlace = x, sum = x
                ck_layer_norm_f32(50, x, residual, nil, nil, 1e-12, &expected, nil)
                inPlace.withUnsafeMutableBufferPointer {
                    ck_layer_norm_f32(50, $0.baseAddress, residual, nil, nil, 1e-12, $0.baseAddress, nil)
                }
                #expect(inPlace == expected, "\(isa)")
                var y = x
                sum.withUnsafeMutableBufferPointer {
                    ck_layer_norm_f32(50, $0.baseAddress, residual, nil, nil, 1e-12, &y, $0.baseAddress)
                }
                #expect(y == expected && sum == zip(x, residual).map { $0 + $1 }, "\(isa)")
            }
        }

        /// A large mean does not eat the variance: two passes.
        @Test func layerNormFarFromZero() {
            forEachISA { isa in
                var y = [Float](repeating: 0, count: 64)
                ck_layer_norm_f32(64, (0..<64).map { 4096 + Float($0 % 2) }, nil, nil, nil, 0, &y, nil)
                #expect(y.enumerated().allSatisfy { abs($1 - ($0 % 2 == 0 ? -1 : 1)) < 1e-6 }, "\(isa)")
            }
        }

        @Test func gatherCopiesRowsAndStopsAtABadIndex() {
            let table = (0..<20).map(Float.init)  // 5 rows of 4, of which 3 are copied
            func gather(_ indices: [Int64]) -> (Int, [Float]) {
                var out = [Float](repeating: -1, count: indices.count * 3)
                let copied = ck_gather_rows(indices.count, 12, table, 5, 16, indices, &out, 12)
                return (copied, out)
            }
            #expect(gather([4, 0, 4]) == (3, [16, 17, 18, 0, 1, 2, 16, 17, 18]))
            #expect(gather([]) == (0, []))
            #expect(gather([1, 5]) == (1, [4, 5, 6, -1, -1, -1]))
            #expect(gather([1, -1]) == (1, [4, 5, 6, -1, -1, -1]))
            #expect(gather([.max, 0]).0 == 0 && gather([.min]).0 == 0)
        }

        @Test func transposeOfEveryShape() {
            for rows in [0, 1, 3, 16, 17, 40] {
                for columns in [0, 1, 5, 16, 33] {
                    let x = (0..<rows * (columns + 2)).map(Float.init)
                    var y = [Float](repeating: -1, count: columns * (rows + 3))
                    ck_transpose_f32(rows, columns, x, columns + 2, &y, rows + 3)
                    for j in 0..<columns {
                        for i in 0..<rows + 3 {
                            #expect(y[j * (rows + 3) + i] == (i < rows ? x[i * (columns + 2) + j] : -1))
                        }
                    }
                }
            }
        }
    }
}
