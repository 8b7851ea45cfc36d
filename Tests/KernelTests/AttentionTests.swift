import CKernels
import Foundation
import Testing

/// Inputs of one head, with room between rows.
private struct Head {
    var q: Matrix, k: Matrix, v: Matrix

    init(rows: Int, keys: Int, size: Int, valueSize: Int, seed: UInt64) {
        var numbers = Numbers(seed)
        q = Matrix(rows, size, pad: 5, &numbers)
        k = Matrix(keys, size, pad: 3, &numbers)
        v = Matrix(keys, valueSize, pad: 7, &numbers)
    }

    func run(
        rows: Range<Int>? = nil, mask: [Float]? = nil, maskStride: Int = 0, scale: Float = 0.3, causalOffset: Int? = nil,
        emptyRowsAreZero: Bool = false
    ) -> [Float] {
        let rows = rows ?? 0..<q.rows
        let stride = v.columns + 1
        var out = [Float](repeating: 55, count: rows.count * stride)
        var scratch = [Float](repeating: .nan, count: ck_attention_scratch(k.rows, k.columns, v.columns))
        q.values.withUnsafeBufferPointer { qp in
            k.values.withUnsafeBufferPointer { kp in
                v.values.withUnsafeBufferPointer { vp in
                    (mask ?? []).withUnsafeBufferPointer { mp in
                        out.withUnsafeMutableBufferPointer { op in
                            var call = ck_attention(
                                rows: rows.count, keys: k.rows, head_size: k.columns, value_size: v.columns,
                                q: qp.baseAddress.map { $0 + rows.lowerBound * q.ld }, q_stride: q.ld, k: kp.baseAddress,
                                k_stride: k.ld, v: vp.baseAddress, v_stride: v.ld, mask: mask == nil ? nil : mp.baseAddress,
                                mask_stride: maskStride, scale: scale, causal: causalOffset != nil,
                                causal_offset: (causalOffset ?? 0) + rows.lowerBound, window: 0, softcap: 0,
                                empty_rows_are_zero: emptyRowsAreZero, out: op.baseAddress, out_stride: stride)
                            ck_attention_f32(&call, &scratch)
                        }
                    }
                }
            }
        }
        for i in 0..<rows.count { #expect(out[i * stride + v.columns] == 55) }
        return (0..<rows.count).flatMap { out[$0 * stride..<$0 * stride + v.columns] }
    }

    func reference(mask: [Float]? = nil, maskStride: Int = 0, scale: Double = 0.3, causalOffset: Int? = nil) -> [Double] {
        var result: [Double] = []
        for i in 0..<q.rows {
            var scores = (0..<k.rows).map { j in
                (0..<k.columns).reduce(0.0) { $0 + q[i, $1] * k[j, $1] } * Double(Float(scale))
                    + (mask.map { Double($0[i * maskStride + j]) } ?? 0)
            }
            if let causalOffset { for j in scores.indices where j > i + causalOffset { scores[j] = -.infinity } }
            let largest = scores.max() ?? 0
            let e = scores.map { exp($0 - largest) }
            let sum = e.reduce(0, +)
            for c in 0..<v.columns { result.append((0..<k.rows).reduce(0.0) { $0 + e[$1] / sum * v[$1, c] }) }
        }
        return result
    }
}

private func matches(_ result: [Float], _ truth: [Double], within bound: Double = 2e-6) -> Bool {
    result.count == truth.count && zip(result, truth).allSatisfy { $1.isNaN ? $0.isNaN : abs(Double($0) - $1) <= bound }
}

extension KernelTests {
    @Suite struct Attention {
        @Test(arguments: [
            (1, 1, 1, 1), (1, 5, 8, 8), (2, 16, 32, 32), (3, 17, 12, 20), (7, 33, 64, 64), (12, 40, 32, 16), (13, 100, 24, 40),
            (40, 40, 16, 33), (3, 600, 32, 16), (2, 20, 400, 8), (0, 4, 8, 8),
        ]) func everyShape(_ rows: Int, _ keys: Int, _ size: Int, _ valueSize: Int) {
            let head = Head(rows: rows, keys: keys, size: size, valueSize: valueSize, seed: 30)
            var numbers = Numbers(31)
            let mask = numbers.floats(rows * keys + keys, -4...4)
            let offset = keys - rows
            let truth = head.reference(), masked = head.reference(mask: mask, maskStride: keys)
            let maskedByOneRow = head.reference(mask: mask)
            let causal = head.reference(causalOffset: offset)
            let causalMasked = head.reference(mask: mask, maskStride: keys, causalOffset: offset)
            forEachISA { isa in
                #expect(matches(head.run(), truth), "\(isa)")
                #expect(matches(head.run(mask: mask, maskStride: keys), masked), "\(isa) mask")
                #expect(matches(head.run(mask: mask), maskedByOneRow), "\(isa) one mask row")
                #expect(matches(head.run(causalOffset: offset), causal), "\(isa) causal")
                #expect(
                    matches(head.run(mask: mask, maskStride: keys, causalOffset: offset), causalMasked), "\(isa) causal, mask")
            }
        }

        /// Splitting the queries gives the same bits.
        @Test func rowsAreIndependent() {
            let head = Head(rows: 29, keys: 50, size: 32, valueSize: 40, seed: 32)
            forEachISA { isa in
                for causal in [nil, 21] as [Int?] {
                    let whole = head.run(causalOffset: causal)
                    for step in [1, 2, 5, 12, 13] {
                        let parts = stride(from: 0, to: 29, by: step).flatMap {
                            head.run(rows: $0..<min(29, $0 + step), causalOffset: causal)
                        }
                        #expect(parts == whole, "\(isa) \(step)")
                    }
                }
            }
        }

        @Test func maskedOutRows() {
            let head = Head(rows: 4, keys: 19, size: 8, valueSize: 20, seed: 33)
            let mean = (0..<20).map { c in (0..<19).reduce(0.0) { $0 + head.v[$1, c] } / 19 }
            // Row 2 sees nothing; row 1 sees only key 3.
            func mask(_ nothing: Float) -> [Float] {
                var mask = [Float](repeating: 0, count: 4 * 19)
                for j in 0..<19 {
                    if j != 3 { mask[19 + j] = nothing }
                    mask[2 * 19 + j] = nothing
                }
                return mask
            }
            forEachISA { isa in
                let finite = head.run(mask: mask(-.greatestFiniteMagnitude), maskStride: 19)
                #expect(matches(Array(finite[40..<60]), mean), "\(isa) a finite mask gives the mean")
                #expect(matches(Array(finite[20..<40]), (0..<20).map { head.v[3, $0] }), "\(isa)")
                let infinite = head.run(mask: mask(-.infinity), maskStride: 19)
                #expect(infinite[40..<60].allSatisfy { $0.isNaN }, "\(isa)")
                #expect(infinite[..<40] == finite[..<40] && infinite[60...] == finite[60...], "\(isa)")
                let zeros = head.run(mask: mask(-.infinity), maskStride: 19, emptyRowsAreZero: true)
                #expect(zeros[40..<60].allSatisfy { $0 == 0 }, "\(isa)")
                #expect(zeros[..<40] == finite[..<40] && zeros[60...] == finite[60...], "\(isa)")
                // Causal, with queries before the first key.
                let early = head.run(causalOffset: -2)
                #expect(early[..<40].allSatisfy { $0.isNaN } && early[40...].allSatisfy { $0.isFinite }, "\(isa)")
                let earlyZero = head.run(causalOffset: -2, emptyRowsAreZero: true)
                #expect(earlyZero[..<40].allSatisfy { $0 == 0 } && earlyZero[40...] == early[40...], "\(isa)")
            }
        }

        @Test func noKeys() {
            let head = Head(rows: 2, keys: 0, size: 8, valueSize: 5, seed: 34)
            forEachISA { isa in
                #expect(head.run().allSatisfy { $0.isNaN }, "\(isa)")
                #expect(head.run(emptyRowsAreZero: true).allSatisfy { $0 == 0 }, "\(isa)")
            }
        }

        @Test func aNaNStaysInItsRow() {
            var head = Head(rows: 5, keys: 9, size: 8, valueSize: 16, seed: 35)
            head.q.values[3 * head.q.ld] = .nan
            forEachISA { isa in
                let out = head.run(emptyRowsAreZero: true)
                for i in 0..<5 { #expect(out[i * 16..<(i + 1) * 16].allSatisfy { $0.isNaN == (i == 3) }, "\(isa)") }
            }
        }

        @Test func scratchThatDoesNotFitIsZero() {
            #expect(ck_attention_scratch(.max, 1, 1) == 0)
            #expect(ck_attention_scratch(1 << 40, 1 << 30, 64) == 0)
            #expect(ck_attention_scratch(0, 0, 0) > 0)
        }
    }
}
