import CKernels
import Foundation
import Testing

extension KernelTests {
    @Suite struct Cache {
        /// queries, heads, past, key width, value width, window
        @Test(arguments: [
            (1, 1, 0, 1, 1, 0), (1, 3, 200, 64, 64, 0), (3, 4, 17, 13, 7, 0), (2, 6, 100, 80, 96, 16), (5, 2, 0, 24, 200, 3), (1, 9, 70, 8, 33, 0),
        ])
        func attention(_ queries: Int, _ heads: Int, _ past: Int, _ width: Int, _ valueWidth: Int, _ window: Int) {
            var numbers = Numbers(80)
            let positions = past + queries
            let q = numbers.floats(queries * heads * width), k = numbers.floats(positions * width), v = numbers.floats(positions * valueWidth)
            for (softcap, hidden) in [(0 as Float, 0), (2, 3), (0, positions)] {
                let mask = (0..<positions).map { $0 < hidden ? -Float.infinity : 0 }
                let scale: Float = 0.6
                let truth = (0..<queries * heads).flatMap { index -> [Double] in
                    let end = past + index / heads + 1
                    let seen = (window > 0 ? max(0, end - window) : 0)..<end
                    let scores = seen.map { j -> Double in
                        let score = (0..<width).reduce(0.0) { $0 + Double(q[index * width + $1]) * Double(k[j * width + $1]) } * Double(scale)
                        return (softcap > 0 ? Double(softcap) * tanh(score / Double(softcap)) : score) + Double(mask[j])
                    }
                    let largest = scores.max() ?? 0
                    guard largest > -.infinity else { return [Double](repeating: 0, count: valueWidth) }
                    let weights = scores.map { exp($0 - largest) }, sum = weights.reduce(0, +)
                    return (0..<valueWidth).map { c in zip(seen, weights).reduce(0.0) { $0 + $1.1 / sum * Double(v[$1.0 * valueWidth + c]) } }
                }
                forEachISA { isa in
                    var out = [Float](repeating: 55, count: queries * heads * valueWidth + 1)
                    var scratch = [Float](repeating: .nan, count: ck_cached_attention_scratch(positions))
                    q.withUnsafeBufferPointer { q in
                        k.withUnsafeBufferPointer { k in
                            v.withUnsafeBufferPointer { v in
                                mask.withUnsafeBufferPointer { mask in
                                    out.withUnsafeMutableBufferPointer { out in
                                        var call = ck_cached_attention(
                                            queries: queries, heads: heads, past: past, head_size: width, value_size: valueWidth,
                                            q: q.baseAddress, q_stride: heads * width, q_head_stride: width, k: k.baseAddress, k_stride: width,
                                            v: v.baseAddress, v_stride: valueWidth, mask: hidden == 0 ? nil : mask.baseAddress, scale: scale,
                                            softcap: softcap, window: window, out: out.baseAddress, out_stride: heads * valueWidth,
                                            out_head_stride: valueWidth)
                                        ck_cached_attention_f32(&call, &scratch)
                                    }
                                }
                            }
                        }
                    }
                    #expect(zip(out, truth).allSatisfy { abs(Double($0) - $1) <= 2e-6 }, "\(isa) softcap \(softcap) hidden \(hidden)")
                    #expect(out.last == 55)
                }
            }
        }

        @Test func rotaryAngles() {
            let frequencies = (0..<33).map { Float(pow(10_000, -Double($0) / 32)) }
            forEachISA { isa in
                for position: Float in [0, 1, 2, 3, 4, 5, 77, 2047, 131_071, 16_777_216] {
                    for n in [0, 1, 8, 33] {
                        var cosines = [Float](repeating: 9, count: n + 1), sines = cosines
                        ck_rotary_angles(n, position, frequencies, 0.5, &cosines, &sines)
                        for i in 0..<n {
                            let angle = Double(position * frequencies[i])
                            #expect(abs(Double(cosines[i]) - 0.5 * cos(angle)) <= 1e-7 && abs(Double(sines[i]) - 0.5 * sin(angle)) <= 1e-7, "\(isa) \(angle)")
                        }
                        #expect(cosines[n] == 9 && sines[n] == 9)
                    }
                }
                var frequency = Float.infinity, cosine: Float = 0, sine: Float = 0
                ck_rotary_angles(1, 1, &frequency, 1, &cosine, &sine)
                #expect(cosine.isNaN && sine.isNaN)
            }
        }

        @Test(arguments: [false, true])
        func rotation(_ isInterleaved: Bool) {
            var numbers = Numbers(81)
            for (heads, width, pairs) in [(1, 2, 1), (3, 64, 32), (2, 70, 13), (2, 9, 0)] {
                let x = numbers.floats(heads * width), cosines = numbers.floats(pairs), sines = numbers.floats(pairs)
                var truth = x.map(Double.init)
                for head in 0..<heads {
                    for pair in 0..<pairs {
                        let first = head * width + (isInterleaved ? 2 * pair : pair), second = isInterleaved ? first + 1 : first + pairs
                        let (a, b) = (Double(x[first]), Double(x[second])), (c, s) = (Double(cosines[pair]), Double(sines[pair]))
                        (truth[first], truth[second]) = (a * c - b * s, b * c + a * s)
                    }
                }
                forEachISA { isa in
                    var y = [Float](repeating: 9, count: heads * width), inPlace = x
                    ck_rotate_f32(isInterleaved, heads, width, pairs, cosines, sines, x, &y)
                    inPlace.withUnsafeMutableBufferPointer { ck_rotate_f32(isInterleaved, heads, width, pairs, cosines, sines, $0.baseAddress, $0.baseAddress) }
                    #expect(zip(y, truth).allSatisfy { abs(Double($0) - $1) <= 3e-7 }, "\(isa)")
                    #expect(inPlace == y, "\(isa)")
                }
            }
        }
    }
}
