import Foundation
import TestSupport
import Testing

@testable import Tensors

@Suite struct BlockTests {
    /// Made by the gguf package: Tests/Fixtures/blocks/make_blocks.py.
    private static let fixture = Fixtures.folder.appendingPathComponent("blocks/blocks.safetensors")

    static let blockTypes = DType.allCases.filter(\.isBlock)

    @Test(arguments: blockTypes)
    func dequantisesBitForBit(_ dtype: DType) throws {
        let file = try SafetensorsFile(contentsOf: Self.fixture)
        let bytes = try file.tensor(named: "\(dtype.rawValue).blocks")
        let blocks = try bytes.bytesAsBlocks(dtype)
        #expect(blocks.shape == [3, 4 * dtype.blockElements] && blocks.byteCount == 12 * dtype.blockBytes)
        let back = try blocks.blocksAsBytes()
        #expect(Tensor.identical(back, bytes))
        let expected = try file.tensor(named: "\(dtype.rawValue).values")
        for type in [DType.f32, .bf16] {
            let (converted, reference) = (try blocks.converted(to: type), try expected.converted(to: type))
            #expect(Tensor.identical(converted, reference))
        }
        #expect(blocks.doubles() == expected.doubles())
        #expect(blocks.integers() == expected.integers())
    }

    @Test(arguments: [DType.q8_0, .q4_0, .q4_1])
    func quantisesBitForBit(_ dtype: DType) throws {
        let file = try SafetensorsFile(contentsOf: Self.fixture)
        let quantized = try file.tensor(named: "source").quantized(to: dtype).blocksAsBytes()
        let expected = try file.tensor(named: "\(dtype.rawValue).quantized")
        #expect(Tensor.identical(quantized, expected))
    }

    /// The root of the mean square difference, relative to that of the values.
    private func relativeError(_ values: [Float], _ dtype: DType) throws -> Double {
        let restored = try Tensor(floats: values, shape: [values.count]).quantized(to: dtype).floats()
        let noise = zip(values, restored).reduce(0.0) { $0 + pow(Double($1.0 - $1.1), 2) }
        return (noise / values.reduce(0.0) { $0 + pow(Double($1), 2) }).squareRoot()
    }

    /// Of normal numbers a uniform quantiser of 4 bits that is fit to 32 of them leaves about 7 %, one of 8 bits 0.5 %.
    @Test func errorsAreThoseOfTheirBits() throws {
        var random = SeededRandom(seed: 11)
        let values = (0..<16 * 256).map { _ in (0..<12).reduce(Float(0)) { sum, _ in sum + random.float() } }
        #expect(try relativeError(values, .q8_0) < 0.006)
        let (k, one, zero) = (try relativeError(values, .q4_k), try relativeError(values, .q4_1), try relativeError(values, .q4_0))
        #expect(k < 0.072 && k < one && one < zero, "\(k) \(one) \(zero)")
    }

    @Test func levelsThatFitExactlyStay() throws {
        // 4 bits hold 16 evenly spaced values, with the offset that 6 bits give.
        let values = (0..<256).map { Float($0 % 16) - 7 }
        #expect(try relativeError(values, .q4_k) < 1e-3)
        for dtype in Tensor.quantizableTypes {
            let zeros = try Tensor(floats: [Float](repeating: 0, count: 256), dtype: dtype, shape: [256])
            #expect(zeros.floats().allSatisfy { $0 == 0 })
            // Smaller than any f16 scale; what is left must not be more.
            let tiny = try Tensor(floats: [Float](repeating: 1e-38, count: 256), dtype: dtype, shape: [256])
            #expect(tiny.floats().allSatisfy { abs($0) < 1e-6 })
        }
        for sign: Float in [-1, 1] {
            let constant = try Tensor(floats: [Float](repeating: sign * 3, count: 256), dtype: .q4_k, shape: [256])
            #expect(constant.floats().allSatisfy { abs($0 - sign * 3) < 0.02 })
        }
    }

    @Test func refusals() throws {
        func message(_ body: () throws -> Void) -> String {
            do {
                try body()
                return "no error"
            } catch {
                return "\(error)"
            }
        }
        let floats = try Tensor(floats: [Float](repeating: 1, count: 96), shape: [2, 48])
        #expect(message { _ = try floats.quantized(to: .q8_0) }
            == "a tensor of type q8_0 and shape [2, 48]: its last dimension must be a multiple of 32")
        #expect(message { _ = try floats.reshaped([96]).quantized(to: .q5_k) }.contains("multiple of 256"))
        #expect(message { _ = try floats.reshaped([3, 32]).quantized(to: .q5_0) } == "nothing is quantised to q5_0, only to q8_0, q4_0, q4_1, q4_k")
        for (value, reason) in [(Float.nan, "element 33 is nan, which q4_0 cannot hold"), (1e9, "elements from 32 on are too large for the 16-bit scale of a q4_0 block")] {
            var values = floats.floats()
            values[33] = value
            #expect(message { _ = try Tensor(floats: values, dtype: .q4_0, shape: [96]) } == reason)
        }
        let blocks = try floats.reshaped([3, 32]).quantized(to: .q8_0)
        let flat = try blocks.reshaped([96])
        #expect(flat.floats() == blocks.floats())
        #expect(message { _ = try blocks.reshaped([2, 48]) }.contains("multiple of 32"))
        #expect(message { _ = try blocks.withElements(of: UInt8.self) { $0.count } } == "elements of type q8_0 read as UInt8")
        #expect(message { _ = try blocks.blocksAsBytes().bytesAsBlocks(.q4_k) }.contains("holds no blocks of type q4_k"))
        #expect(message { _ = try Tensor(floats: [1], dtype: .q8_0, shape: []) }.contains("multiple of 32"))
        let storage = Storage(byteCount: 33) { $0.initializeMemory(as: UInt8.self, repeating: 0) }
        #expect(message { _ = try Tensor(dtype: .q8_0, shape: [32], storage: storage) }.contains("does not fit its 33 bytes"))
        #expect(DType.q8_0.byteCount(forElements: 33) == nil && DType.f64.byteCount(forElements: .max / 2) == nil)
    }

    @Test func storedAsBytesInSafetensors() throws {
        try Fixtures.withTemporaryFolder { folder in
            let url = folder.appendingPathComponent("blocks.safetensors")
            let blocks = try Tensor(floats: (0..<192).map { Float($0) }, dtype: .q4_1, shape: [3, 64])
            // The odd byte before does not move the blocks off their alignment.
            try SafetensorsWriter.write([("a", try Tensor(bools: [true], shape: [1])), ("b", blocks)], to: url)
            let file = try SafetensorsFile(contentsOf: url)
            #expect(file.entry(named: "b")?.dtype == .u8 && file.entry(named: "b")?.shape == [3, 40])
            let read = try file.tensor(named: "b").bytesAsBlocks(.q4_1)
            #expect(Tensor.identical(read, blocks))
            #expect(read.unsafePointer.map { Int(bitPattern: $0) % 2 } == 0)
        }
    }

    /// Whole numbers times 16-bit scales come back as they were, from the smallest blocks.
    @Test(arguments: [(Int16(-8), Int16(7), DType.q4_0), (-15, 15, .q5_0), (-128, 127, .q8_0)])
    func levelsAndScalesAreHeldExactly(_ least: Int16, greatest: Int16, dtype: DType) throws {
        var random = SeededRandom(seed: 4)
        for (width, group) in [(64, 32), (128, 64), (96, 64), (32, 128)] {
            let groups = (width + group - 1) / group
            var levels = (0..<3 * width).map { _ in Int16(random.next() % UInt64(greatest - least + 1)) + least }
            (levels[1], levels[2]) = (least, greatest)
            let scales = (0..<3 * groups).map { _ in HalfPrecision.float(fromF16: HalfPrecision.f16(from: random.float() * 0.1)) }
            let blocks = try Tensor(levels: levels, scales: scales, group: group, shape: [3, width])
            #expect(blocks.dtype == dtype)
            let expected = levels.indices.map { Float(levels[$0]) * scales[$0 / width * groups + $0 % width / group] }
            #expect(zip(blocks.floats(), expected).allSatisfy { $0 == $1 })
        }
    }

    @Test func levelsThatNoBlockHoldsAreNamed() {
        func refusal(_ width: Int, group: Int, level: Int16 = 1, scale: Float = 0.5, scales: Int? = nil) -> String? {
            do {
                let groups = scales ?? (width + max(group, 1) - 1) / max(group, 1)
                _ = try Tensor(levels: Array(repeating: level, count: width), scales: Array(repeating: scale, count: groups), group: group, shape: [1, width])
                return nil
            } catch { return "\(error)" }
        }
        #expect(refusal(64, group: 32) == nil)
        #expect(refusal(48, group: 48) == "its rows of 48 are no whole number of blocks of 32")
        #expect(refusal(64, group: 16) == "its groups of 16 are no whole number of blocks of 32")
        #expect(refusal(64, group: 32, level: 128)?.hasPrefix("its levels do not fit in 8 bits") == true)
        for scale in [Float(0.1), .infinity, .nan, 1e-9, 70_000] {
            #expect(refusal(64, group: 32, scale: scale) == "its scales have more digits than the 16-bit floats of blocks")
        }
        #expect(refusal(64, group: .max, scales: 1)?.contains("are no matrix") == true)
        #expect(refusal(64, group: 0)?.contains("are no matrix") == true && refusal(64, group: 32, scales: 3)?.contains("are no matrix") == true)
    }
}
