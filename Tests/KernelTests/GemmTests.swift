import CKernels
import Foundation
import Testing

/// A matrix with room between its rows; the room holds NaN, which spreads if it is read.
struct Matrix {
    let rows: Int, columns: Int, ld: Int
    var values: [Float]

    init(_ rows: Int, _ columns: Int, pad: Int, _ numbers: inout Numbers) {
        (self.rows, self.columns, ld) = (rows, columns, columns + pad)
        values = [Float](repeating: .nan, count: rows * ld)
        for i in 0..<rows {
            for j in 0..<columns { values[i * ld + j] = Float.random(in: -1...1, using: &numbers) }
        }
    }

    subscript(i: Int, j: Int) -> Double { Double(values[i * ld + j]) }
}

/// op(A) op(B) at [i, j], and the sum of magnitudes, which scales the bound.
private func product(_ a: Matrix, _ ta: Bool, _ b: Matrix, _ tb: Bool, _ k: Int, _ i: Int, _ j: Int) -> (Double, Double) {
    var sum = 0.0, size = 0.0
    for p in 0..<k {
        let term = (ta ? a[p, i] : a[i, p]) * (tb ? b[j, p] : b[p, j])
        sum += term
        size += abs(term)
    }
    return (sum, size)
}

private func bound(_ k: Int, _ size: Double) -> Double { 1e-7 * (8 + Double(k) / 8) * (size + 1) }

private func packed(_ b: Matrix, transposed: Bool) -> [Float] {
    let (k, n) = transposed ? (b.columns, b.rows) : (b.rows, b.columns)
    var result = [Float](repeating: .nan, count: ck_packed_size(k, n))
    ck_pack_b(transposed, k, n, b.values, b.ld, &result)
    return result
}

private let shapes: [(m: Int, n: Int, k: Int)] = [
    (0, 5, 5), (5, 0, 5), (3, 5, 0), (1, 1, 1), (1, 16, 8), (1, 130, 20), (2, 33, 17), (2, 70, 5), (3, 16, 3), (4, 31, 64),
    (5, 17, 9), (6, 16, 16), (7, 48, 33), (8, 15, 7), (9, 80, 12), (11, 32, 40), (12, 33, 5), (13, 47, 21), (25, 64, 100),
    (97, 35, 50), (3, 20, 385), (14, 40, 800), (101, 18, 400),
]

extension KernelTests {
    @Suite struct Gemm {
        @Test(arguments: [false, true]) func packedProductOfEveryShape(_ transposed: Bool) {
            var numbers = Numbers(20)
            for (m, n, k) in shapes {
                let a = Matrix(m, k, pad: 3, &numbers)
                let b = transposed ? Matrix(n, k, pad: 2, &numbers) : Matrix(k, n, pad: 2, &numbers)
                let truth = (0..<m).map { i in (0..<n).map { product(a, false, b, transposed, k, i, $0) } }
                let weights = packed(b, transposed: transposed)
                forEachISA { isa in
                    var c = [Float](repeating: .nan, count: m * (n + 1))
                    ck_gemm_packed(0, m, 0, n, n, k, a.values, a.ld, weights, &c, n + 1, nil)
                    for i in 0..<m {
                        let row = c[i * (n + 1)..<i * (n + 1) + n]
                        let right = zip(row, truth[i]).allSatisfy { abs(Double($0) - $1.0) <= bound(k, $1.1) }
                        #expect(right, "\(isa) \(m)x\(n)x\(k) row \(i)")
                        #expect(c[i * (n + 1) + n].isNaN)
                    }
                }
            }
        }

        /// Any split of rows and columns, as threads would make it, gives the same bits.
        @Test func splitsDoNotChangeAResult() {
            var numbers = Numbers(21)
            let (m, n, k) = (29, 100, 800)
            let a = Matrix(m, k, pad: 0, &numbers), b = Matrix(n, k, pad: 0, &numbers)
            let weights = packed(b, transposed: true)
            forEachISA { isa in
                var whole = [Float](repeating: 0, count: m * n)
                ck_gemm_packed(0, m, 0, n, n, k, a.values, k, weights, &whole, n, nil)
                for rowStep in [1, 2, 3, 5, 6, 7, 12, 29] {
                    for columnStep in [16, 32, 48, 112] {
                        var c = [Float](repeating: 0, count: m * n)
                        for i in stride(from: 0, to: m, by: rowStep) {
                            for j in stride(from: 0, to: n, by: columnStep) {
                                ck_gemm_packed(
                                    i, min(m, i + rowStep), j, min(n, j + columnStep), n, k, a.values, k, weights, &c, n, nil)
                            }
                        }
                        #expect(c == whole, "\(isa) \(rowStep) \(columnStep)")
                    }
                }
            }
        }

        @Test(arguments: [ck_identity, ck_relu, ck_gelu, ck_gelu_tanh, ck_tanh, ck_sigmoid, ck_silu].map(\.rawValue))
        func epilogue(_ activation: UInt32) {
            var numbers = Numbers(22)
            for (m, n, k) in [(1, 20, 10), (7, 37, 50), (13, 16, 900)] {
                let a = Matrix(m, k, pad: 1, &numbers), b = Matrix(k, n, pad: 0, &numbers)
                let residual = Matrix(m, n, pad: 2, &numbers), old = Matrix(m, n, pad: 0, &numbers)
                let bias = numbers.floats(n)
                let weights = packed(b, transposed: false)
                let truth = (0..<m).map { i in (0..<n).map { product(a, false, b, false, k, i, $0) } }
                forEachISA { isa in
                    for form in 0..<8 {
                        let (hasBias, hasResidual, accumulate) = (form & 1 != 0, form & 2 != 0, form & 4 != 0)
                        var c = old.values
                        residual.values.withUnsafeBufferPointer { r in
                            bias.withUnsafeBufferPointer { v in
                                var e = ck_epilogue(
                                    bias: hasBias ? v.baseAddress : nil, activation: ck_unary(rawValue: activation),
                                    residual: hasResidual ? r.baseAddress : nil, residual_ld: residual.ld,
                                    accumulate: accumulate)
                                ck_gemm_packed(0, m, 0, n, n, k, a.values, a.ld, weights, &c, n, &e)
                            }
                        }
                        for i in 0..<m {
                            for j in 0..<n {
                                let (sum, size) = truth[i][j]
                                let x = sum + (hasBias ? Double(bias[j]) : 0) + (accumulate ? old[i, j] : 0)
                                var y = Float(x)
                                ck_unary_f32(ck_unary(rawValue: activation), 1, [y], &y)
                                let expected = Double(y) + (hasResidual ? residual[i, j] : 0)
                                // No activation here is steeper than 1.2.
                                #expect(
                                    abs(Double(c[i * n + j]) - expected) <= 1.2 * bound(k, size) + 1e-6,
                                    "\(isa) form \(form) \(m)x\(n)x\(k)")
                            }
                        }
                    }
                }
            }
        }

        @Test(arguments: [false, true], [false, true]) func stridedProduct(_ ta: Bool, _ tb: Bool) {
            var numbers = Numbers(23)
            for (m, n, k) in shapes {
                let a = ta ? Matrix(k, m, pad: 2, &numbers) : Matrix(m, k, pad: 2, &numbers)
                let b = tb ? Matrix(n, k, pad: 1, &numbers) : Matrix(k, n, pad: 1, &numbers)
                let old = Matrix(m, n, pad: 1, &numbers)
                let truth = (0..<m).map { i in (0..<n).map { product(a, ta, b, tb, k, i, $0) } }
                forEachISA { isa in
                    for (alpha, beta) in [(Float(1), Float(0)), (0.5, 1), (-2, 0.25)] {
                        // beta = 0 must not read C.
                        var c = beta == 0 ? [Float](repeating: .nan, count: old.values.count) : old.values
                        ck_gemm_f32(ta, tb, m, n, k, alpha, a.values, a.ld, b.values, b.ld, beta, &c, old.ld)
                        for i in 0..<m {
                            for j in 0..<n {
                                let (sum, size) = truth[i][j]
                                let expected = Double(alpha) * sum + (beta == 0 ? 0 : Double(beta) * old[i, j])
                                #expect(
                                    abs(Double(c[i * old.ld + j]) - expected) <= 2 * bound(k, size),
                                    "\(isa) \(m)x\(n)x\(k) alpha \(alpha) beta \(beta)")
                            }
                        }
                    }
                }
            }
        }

        @Test(arguments: [false, true]) func matrixVector(_ transposed: Bool) {
            var numbers = Numbers(24)
            for (rows, columns) in [(0, 3), (3, 0), (1, 1), (5, 7), (16, 16), (33, 100), (100, 33)] {
                let a = Matrix(rows, columns, pad: 2, &numbers)
                let (outputs, inputs) = transposed ? (columns, rows) : (rows, columns)
                let x = numbers.floats(inputs), old = numbers.floats(outputs)
                forEachISA { isa in
                    for (alpha, beta) in [(Float(1), Float(0)), (0.5, 1), (2, -0.5)] {
                        var y = beta == 0 ? [Float](repeating: .nan, count: outputs) : old
                        ck_gemv_f32(transposed, rows, columns, alpha, a.values, a.ld, x, beta, &y)
                        for i in 0..<outputs {
                            let sum = (0..<inputs).reduce(0.0) { $0 + (transposed ? a[$1, i] : a[i, $1]) * Double(x[$1]) }
                            let expected = Double(alpha) * sum + (beta == 0 ? 0 : Double(beta) * Double(old[i]))
                            #expect(abs(Double(y[i]) - expected) <= bound(inputs, Double(inputs)), "\(isa) \(rows)x\(columns)")
                        }
                    }
                }
            }
        }

        @Test func infinitiesAndNaNsStayInTheirRowsAndColumns() {
            forEachISA { isa in
                var numbers = Numbers(25)
                var a = Matrix(9, 40, pad: 0, &numbers)
                let b = Matrix(40, 21, pad: 0, &numbers)
                a.values[4 * 40 + 7] = .nan
                var c = [Float](repeating: 0, count: 9 * 21)
                ck_gemm_packed(0, 9, 0, 21, 21, 40, a.values, 40, packed(b, transposed: false), &c, 21, nil)
                for i in 0..<9 { #expect(c[i * 21..<(i + 1) * 21].allSatisfy { $0.isNaN == (i == 4) }, "\(isa)") }
            }
        }

        @Test func sizesThatDoNotFitAreZero() {
            #expect(ck_packed_size(3, 17) == 96)
            #expect(ck_packed_size(.max, 16) == 0)
            #expect(ck_packed_size(1 << 40, 1 << 30) == 0)
            #expect(ck_packed_size(1, .max) == 0)
            #expect(ck_packed_size_int8(3, 17) == 128)
            #expect(ck_packed_size_int8(.max, .max) == 0)
        }
    }
}
