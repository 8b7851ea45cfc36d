import CKernels
import Foundation
import Testing

private let floatTypes = [ck_weight_f32, ck_weight_f16, ck_weight_bf16]
private let blockTypes = [
    ck_weight_q8_0, ck_weight_q4_0, ck_weight_q4_1, ck_weight_q5_0, ck_weight_q5_1, ck_weight_q4_k, ck_weight_q5_k, ck_weight_q6_k,
]

/// A matrix of weights as stored, and what it stands for.
private struct Weights {
    let type: ck_weight
    let rows: Int
    let width: Int
    var bytes: [UInt8]

    /// Random contents; `scales` are the d and m of the blocks, taken in turn.
    init(_ type: ck_weight, rows: Int, width: Int, scales: [Float] = [0.01, -0.02, 0.003], _ numbers: inout Numbers) {
        self.type = type
        self.rows = rows
        self.width = width
        let blockBytes = ck_weight_block_bytes(type), count = rows * width / ck_weight_block_elements(type)
        bytes = (0..<count * blockBytes).map { _ in UInt8.random(in: 0...255, using: &numbers) }
        for block in 0..<count {
            let start = block * blockBytes
            func put<Value>(_ value: Value, _ offset: Int) {
                withUnsafeBytes(of: value) { bytes.replaceSubrange(start + offset..<start + offset + $0.count, with: $0) }
            }
            let (d, m) = (half(scales[block % scales.count]), half(scales[(block + 1) % scales.count]))
            switch type {
            case ck_weight_f32: put(Float.random(in: -1...1, using: &numbers), 0)
            case ck_weight_f16: put(half(Float.random(in: -1...1, using: &numbers)), 0)
            case ck_weight_bf16: put(UInt16(Float.random(in: -1...1, using: &numbers).bitPattern >> 16), 0)
            case ck_weight_q6_k: put(d, 208)
            case ck_weight_q4_1, ck_weight_q5_1, ck_weight_q4_k, ck_weight_q5_k:
                put(d, 0)
                put(m, 2)
            default: put(d, 0)
            }
        }
    }

    /// Weight by weight, as the format describes them.
    func values() -> [Double] {
        let blockBytes = ck_weight_block_bytes(type)
        return (0..<rows * width / ck_weight_block_elements(type)).flatMap { block in
            Self.block(type, Array(bytes[block * blockBytes..<(block + 1) * blockBytes]))
        }
    }

    private static func block(_ type: ck_weight, _ b: [UInt8]) -> [Double] {
        func float16(_ offset: Int) -> Double { Double(number(UInt16(b[offset]) | UInt16(b[offset + 1]) << 8)) }
        func nibble(_ offset: Int, _ i: Int) -> Double { Double(i < 16 ? b[offset + i] & 15 : b[offset + i - 16] >> 4) }
        func fifth(_ offset: Int, _ i: Int) -> Double { Double(b[offset + i / 8] >> (i % 8) & 1) * 16 }
        switch type {
        case ck_weight_f32: return [Double(b.withUnsafeBytes { $0.loadUnaligned(as: Float.self) })]
        case ck_weight_f16: return [float16(0)]
        case ck_weight_bf16: return [Double(Float(bitPattern: UInt32(b[0]) << 16 | UInt32(b[1]) << 24))]
        case ck_weight_q8_0: return (0..<32).map { float16(0) * Double(Int8(bitPattern: b[2 + $0])) }
        case ck_weight_q4_0: return (0..<32).map { float16(0) * (nibble(2, $0) - 8) }
        case ck_weight_q4_1: return (0..<32).map { float16(0) * nibble(4, $0) + float16(2) }
        case ck_weight_q5_0: return (0..<32).map { float16(0) * (nibble(6, $0) + fifth(2, $0) - 16) }
        case ck_weight_q5_1: return (0..<32).map { float16(0) * (nibble(8, $0) + fifth(4, $0)) + float16(2) }
        case ck_weight_q6_k:
            return (0..<256).map { i in
                let (half, quarter, l) = (i / 128, i % 128 / 32, i % 32)
                let low = b[64 * half + 32 * (quarter % 2) + l], high = b[128 + 32 * half + l]
                let q = Int(quarter < 2 ? low & 15 : low >> 4) | Int(high >> (2 * quarter) & 3) << 4
                return float16(208) * Double(Int8(bitPattern: b[192 + i / 16])) * Double(q - 32)
            }
        default:
            return (0..<256).map { i in
                let (group, l) = (i / 32, i % 32)
                let s = b[4..<16].map { Int($0) }
                let scale = group < 4 ? s[group] & 63 : s[group + 4] & 15 | (s[group - 4] >> 6) << 4
                let minimum = group < 4 ? s[group + 4] & 63 : s[group + 4] >> 4 | (s[group] >> 6) << 4
                let low = b[(type == ck_weight_q5_k ? 48 : 16) + 32 * (group / 2) + l]
                var q = Int(group % 2 == 0 ? low & 15 : low >> 4)
                if type == ck_weight_q5_k { q += Int(b[16 + l] >> group & 1) * 16 }
                return float16(0) * Double(scale) * Double(q) - float16(2) * Double(minimum)
            }
        }
    }
}

/// Between a float and the bits of its 16-bit form, by the kernels that `ConvertTests` checks.
private func half(_ x: Float) -> UInt16 {
    var x = x, result: UInt16 = 0
    ck_f32_to_f16(1, &x, &result)
    return result
}

private func number(_ bits: UInt16) -> Float {
    var bits = bits, result: Float = 0
    ck_f16_to_f32(1, &bits, &result)
    return result
}

/// Rows of activations in the form that block products take.
private func quantized(_ x: [Float], rows: Int, width: Int) -> [UInt8] {
    let size = ck_activations_size(width)
    var result = [UInt8](repeating: 99, count: max(rows * size, 1))
    result.withUnsafeMutableBytes { target in
        x.withUnsafeBufferPointer { source in
            guard let base = source.baseAddress, let out = target.baseAddress else { return }
            for row in 0..<rows { ck_quantize_activations(width, base + row * width, out + row * size) }
        }
    }
    return result
}

extension KernelTests {
    @Suite struct Weight {
        @Test(arguments: (floatTypes + blockTypes).map(\.rawValue))
        func widened(_ raw: UInt32) {
            let type = ck_weight(rawValue: raw)
            var numbers = Numbers(70)
            let weights = Weights(type, rows: 3, width: 768, &numbers), truth = weights.values()
            let largest = truth.map(abs).max() ?? 0
            forEachISA { isa in
                var y = [Float](repeating: 9, count: truth.count + 1)
                ck_dequantize_weights(type, truth.count, weights.bytes, &y)
                #expect(zip(y, truth).allSatisfy { abs(Double($0) - $1) <= 2e-7 * largest }, "\(isa)")
                #expect(y[truth.count] == 9)
            }
        }

        /// Every number of rows that is computed in its own way, odd counts of weight rows, and parts of the matrix.
        @Test(arguments: (floatTypes + blockTypes).map(\.rawValue))
        func products(_ raw: UInt32) {
            let type = ck_weight(rawValue: raw)
            var numbers = Numbers(71)
            let isFloat = floatTypes.contains(type)
            let widths = isFloat ? [1, 7, 33, 300] : ck_weight_block_elements(type) == 32 ? [32, 96, 320] : [256, 768]
            for width in widths {
                let n = 21, weights = Weights(type, rows: n, width: width, &numbers), w = weights.values()
                let bias = numbers.floats(n)
                for m in [1, 2, 3, 4, 5, 6, 7, 8, 9, 16, 39] {
                    var x = numbers.floats(m * width)
                    for i in stride(from: 0, to: x.count, by: 61) { x[i] *= 30 }
                    let residual = numbers.floats(m * n)
                    let activations = isFloat ? [] : quantized(x, rows: m, width: width)
                    // What an activation's error is measured by: the largest of its 32.
                    let largest = x.indices.map { index in
                        let group = index / width * width + index % width / 32 * 32
                        return isFloat ? abs(x[index]) : x[group..<group + 32].map(abs).max() ?? 0
                    }
                    forEachISA { isa in
                        for (first, end) in [(0, n), (0, 4), (3, 5), (18, n), (5, 5)] {
                            for hasEpilogue in [false, true] {
                                var sums = [[Float]](repeating: [Float](repeating: 55, count: m * n), count: 2)
                                var scratch = [Float](repeating: .nan, count: Int(ck_float_gemm_scratch))
                                bias.withUnsafeBufferPointer { bias in
                                    residual.withUnsafeBufferPointer { residual in
                                        var epilogue = ck_epilogue(
                                            bias: bias.baseAddress, activation: ck_relu, residual: residual.baseAddress, residual_ld: n,
                                            accumulate: false)
                                        withUnsafePointer(to: &epilogue) { pointer in
                                            let epilogue = hasEpilogue ? pointer : nil
                                            if isFloat {
                                                ck_float_product(type, first, end, width, weights.bytes, m, x, width, &sums[0], n, epilogue)
                                                ck_float_gemm(type, first, end, width, weights.bytes, m, x, width, &sums[1], n, epilogue, &scratch)
                                            } else {
                                                ck_block_product(type, first, end, width, weights.bytes, m, activations, &sums[0], n, epilogue)
                                                sums.removeLast()
                                            }
                                        }
                                    }
                                }
                                for (c, bound) in zip(sums, [isFloat ? 3e-6 : 2e-5, 3e-6]) {
                                    var isRight = true
                                    for i in 0..<m {
                                        for j in 0..<n {
                                            guard (first..<end).contains(j) else {
                                                isRight = isRight && c[i * n + j] == 55
                                                continue
                                            }
                                            var (sum, size) = (0.0, 1e-6)
                                            for p in 0..<width {
                                                let term = Double(x[i * width + p]) * w[j * width + p]
                                                sum += term
                                                size += Double(largest[i * width + p]) * abs(w[j * width + p])
                                            }
                                            if hasEpilogue { sum = max(0, sum + Double(bias[j])) + Double(residual[i * n + j]) }
                                            isRight = isRight && abs(Double(c[i * n + j]) - sum) <= bound * (size + (hasEpilogue ? 2 : 0))
                                        }
                                    }
                                    #expect(isRight, "\(isa) m=\(m) k=\(width) \(first)..<\(end) epilogue \(hasEpilogue)")
                                }
                            }
                        }
                    }
                }
            }
        }

        /// What a row gives depends neither on the other rows nor on how the weight is cut.
        @Test(arguments: (floatTypes + blockTypes).map(\.rawValue))
        func rowsStandAlone(_ raw: UInt32) {
            let type = ck_weight(rawValue: raw)
            var numbers = Numbers(72)
            let n = 11, width = 512, m = 7
            let weights = Weights(type, rows: n, width: width, &numbers), x = numbers.floats(m * width)
            let activations = quantized(x, rows: m, width: width)
            forEachISA { isa in
                func product(_ rows: Range<Int>, step: Int) -> [Float] {
                    var c = [Float](repeating: 0, count: rows.count * n)
                    for j in stride(from: 0, to: n, by: step) {
                        if floatTypes.contains(type) {
                            ck_float_product(
                                type, j, min(j + step, n), width, weights.bytes, rows.count, Array(x[(rows.lowerBound * width)...]), width, &c, n, nil)
                        } else {
                            let start = Array(activations[(rows.lowerBound * ck_activations_size(width))...])
                            ck_block_product(type, j, min(j + step, n), width, weights.bytes, rows.count, start, &c, n, nil)
                        }
                    }
                    return c
                }
                let whole = product(0..<m, step: n)
                #expect(product(0..<m, step: 3) == whole, "\(isa)")
                for row in 0..<m { #expect(product(row..<row + 1, step: n) == Array(whole[row * n..<(row + 1) * n]), "\(isa) row \(row)") }
            }
        }

        @Test(arguments: blockTypes.map(\.rawValue))
        func extremeScales(_ raw: UInt32) {
            let type = ck_weight(rawValue: raw)
            var numbers = Numbers(73)
            let width = 512, ones = quantized([Float](repeating: 1, count: width), rows: 1, width: width)
            forEachISA { isa in
                var c: Float = 5
                ck_block_product(type, 0, 1, width, Weights(type, rows: 1, width: width, scales: [0], &numbers).bytes, 1, ones, &c, 1, nil)
                #expect(c == 0, "\(isa) zero blocks")
                ck_block_product(type, 0, 1, width, Weights(type, rows: 1, width: width, scales: [.nan], &numbers).bytes, 1, ones, &c, 1, nil)
                #expect(c.isNaN, "\(isa) NaN scale")
                for scale: Float in [65504, 6e-8] {
                    let weights = Weights(type, rows: 1, width: width, scales: [scale], &numbers), truth = weights.values()
                    ck_block_product(type, 0, 1, width, weights.bytes, 1, ones, &c, 1, nil)
                    #expect(abs(Double(c) - truth.reduce(0, +)) <= 1e-6 * truth.reduce(0) { $0 + abs($1) }, "\(isa) scale \(scale)")
                }
                let weights = Weights(type, rows: 1, width: width, &numbers)
                for (value, isNumber) in [(Float.nan, false), (.infinity, false), (1e30, true), (Float.leastNonzeroMagnitude, true), (-0.0, true)] {
                    var x = [Float](repeating: value, count: width)
                    x[3] = 0
                    ck_block_product(type, 0, 1, width, weights.bytes, 1, quantized(x, rows: 1, width: width), &c, 1, nil)
                    #expect(isNumber ? !c.isNaN : c.isNaN, "\(isa) activations \(value)")
                }
            }
        }

        @Test func columns() {
            var numbers = Numbers(74)
            for (n, k) in [(1, 1), (5, 3), (40, 17), (70, 64)] {
                let w = numbers.floats(n * k), bias = numbers.floats(n)
                for m in 1...5 {
                    let x = numbers.floats(m * k)
                    forEachISA { isa in
                        for step in [n, 16] {
                            var c = [Float](repeating: 55, count: m * n)
                            bias.withUnsafeBufferPointer { bias in
                                var epilogue = ck_epilogue(
                                    bias: bias.baseAddress, activation: ck_identity, residual: nil, residual_ld: 0, accumulate: false)
                                for j in stride(from: 0, to: n, by: step) { ck_column_product(j, min(j + step, n), n, k, w, m, x, k, &c, n, &epilogue) }
                            }
                            for i in 0..<m {
                                for j in 0..<n {
                                    let truth = (0..<k).reduce(Double(bias[j])) { $0 + Double(x[i * k + $1]) * Double(w[$1 * n + j]) }
                                    #expect(abs(Double(c[i * n + j]) - truth) <= 3e-6, "\(isa) \(m)x\(n)x\(k)")
                                }
                            }
                        }
                    }
                }
            }
        }

        @Test func sizes() {
            #expect(ck_activations_size(0) == 0)
            #expect(ck_activations_size(32) == 128)
            #expect(ck_activations_size(Int.max & ~31) == 0)
        }
    }
}
