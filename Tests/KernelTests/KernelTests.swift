import CKernels
import Testing

/// All kernel tests run one after the other: the instruction set in use is one per process.
@Suite(.serialized) struct KernelTests {}

/// Runs `body` once for each version of the kernels that this CPU has, then goes back to the best.
func forEachISA(_ body: (String) throws -> Void) rethrows {
    let best = ck_cpu_features().best
    defer { _ = ck_force_isa(best) }
    for isa in [ck_isa_baseline, ck_isa_avx2, ck_isa_avx512, ck_isa_avx512_vnni, ck_isa_amx] where ck_isa_available(isa) {
        #expect(ck_force_isa(isa))
        try body(String(cString: ck_isa_name(isa)))
    }
}

/// Lengths around every vector width, and some long ones.
let lengths = [0, 1, 2, 3, 4, 5, 7, 8, 9, 15, 16, 17, 31, 32, 33, 63, 64, 65, 127, 384, 1000]

/// Reproducible numbers (SplitMix64).
struct Numbers: RandomNumberGenerator {
    var state: UInt64

    init(_ seed: UInt64) { state = seed }

    mutating func next() -> UInt64 {
        state &+= 0x9e37_79b9_7f4a_7c15
        var z = state
        z = (z ^ (z >> 30)) &* 0xbf58_476d_1ce4_e5b9
        z = (z ^ (z >> 27)) &* 0x94d0_49bb_1331_11eb
        return z ^ (z >> 31)
    }

    mutating func floats(_ count: Int, _ range: ClosedRange<Float> = -1...1) -> [Float] {
        (0..<count).map { _ in Float.random(in: range, using: &self) }
    }
}

/// The distance of a result from the true value, in units of the last place of a float32 at the true value. Equal
/// infinities and two NaNs are 0 apart; a number against a NaN or infinity is infinitely far.
func ulps(_ result: Float, _ truth: Double) -> Double {
    if result.isNaN || truth.isNaN { return result.isNaN && truth.isNaN ? 0 : .infinity }
    let rounded = Float(truth)
    if rounded.isInfinite || result.isInfinite {
        if rounded == result { return 0 }
        // Next to the overflow threshold either neighbour is within an ULP.
        return rounded.magnitude == .infinity && result.magnitude == .greatestFiniteMagnitude
            || rounded.magnitude == .greatestFiniteMagnitude && result.magnitude == .infinity ? 1 : .infinity
    }
    return abs(Double(result) - truth) / Double(max(rounded.ulp, .leastNonzeroMagnitude))
}

/// NaN counts as equal to NaN, and signs of zero are told apart.
func same(_ a: Float, _ b: Float) -> Bool { a.isNaN ? b.isNaN : a.bitPattern == b.bitPattern }

extension KernelTests {
    @Suite struct Dispatch {
        @Test func bestVersionIsActive() {
            let features = ck_cpu_features()
            #expect(features.active == features.best)
            #expect(ck_isa_available(ck_isa_baseline))
            #expect(ck_isa_available(features.best))
            #expect(ck_isa_available(ck_isa_avx512) == features.avx512)
        }

        @Test func unavailableVersionIsRefused() {
            let before = ck_cpu_features().active
            #expect(!ck_force_isa(ck_isa(rawValue: 99)))
            #expect(ck_cpu_features().active == before)
        }

        @Test func forcedVersionIsReported() {
            forEachISA { name in
                #expect(String(cString: ck_isa_name(ck_cpu_features().active)) == name)
            }
        }
    }
}
