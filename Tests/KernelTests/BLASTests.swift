import COpenBLAS
import Foundation
import Testing

/// On a machine without the library these prove that callers are told so.
@Suite struct BLASTests {
    private static var info: blas_info { blas_get_info().pointee }

    @Test func infoIsConsistent() {
        let info = Self.info
        #expect((blas_load() == blas_ok) == info.available)
        #expect(String(cString: info.message).isEmpty == info.available)
        if info.available {
            #expect(info.self_check_error > 0 && info.self_check_error <= blas_self_check_bound)
            #expect(!String(cString: info.name).isEmpty && !String(cString: info.path).isEmpty)
        }
    }

    /// The variables that steer OpenBLAS while it loads are put back.
    @Test func environmentIsUnchanged() {
        let before = ProcessInfo.processInfo.environment
        _ = blas_load()
        #expect(getenv("OPENBLAS_CORETYPE").map { String(cString: $0) } == before["OPENBLAS_CORETYPE"])
        #expect(getenv("OPENBLAS_NUM_THREADS").map { String(cString: $0) } == before["OPENBLAS_NUM_THREADS"])
        if Self.info.core_set_by_loader { #expect(getenv("OPENBLAS_CORETYPE") == nil) }
    }

    @Test func unavailableIsSaid() {
        guard !Self.info.available else { return }
        var c: [Float] = [5]
        #expect(blas_sgemm(false, false, 1, 1, 1, 1, [2], 1, [3], 1, 0, &c, 1) == blas_unavailable)
        #expect(c == [5])
    }

    @Test(.enabled(if: info.available)) func matrixVector() {
        var y: [Float] = [.nan, .nan]
        #expect(blas_sgemv(false, 2, 3, 1, [1, 2, 3, 9, 4, 5, 6, 9], 4, [1, 10, 100], 0, &y) == blas_ok)
        #expect(y == [321, 654])
        var z: [Float] = [1, 1, 1]
        #expect(blas_sgemv(true, 2, 3, 2, [1, 2, 3, 9, 4, 5, 6, 9], 4, [1, 10], 1, &z) == blas_ok)
        #expect(z == [83, 105, 127])
        #expect(blas_sgemv(false, 2, 0, 1, [1], 1, [1], 0.5, &z) == blas_ok)
        #expect(z == [41.5, 52.5, 127])
    }

    @Test(.enabled(if: info.available)) func degenerateAndBadArguments() {
        var c: [Float] = [3, 4]
        #expect(blas_sgemm(false, false, 1, 2, 0, 1, [1], 0, [1], 2, 2, &c, 2) == blas_ok)
        #expect(c == [6, 8])
        #expect(blas_sgemm(false, false, 0, 2, 1, 1, [1], 1, [1, 1], 2, 0, &c, 2) == blas_ok)
        #expect(blas_sgemm(false, false, 1, 2, 3, 1, [1], 2, [1], 2, 0, &c, 2) == blas_bad_argument)
        #expect(blas_sgemm(false, false, 1, 2, 1 << 40, 1, [1], 1 << 40, [1], 2, 0, &c, 2) == blas_bad_argument)
        #expect(c == [6, 8])
    }

    /// Many threads at once, as a worker pool calls it, each with its own product.
    @Test(.enabled(if: info.available)) func concurrentProducts() async {
        func worst(_ seed: UInt64) -> Double {
            var numbers = Numbers(seed)
            let (m, n, k) = (33, 65, 129)
            let a = numbers.floats(m * k), b = numbers.floats(n * k)
            var c = [Float](repeating: .nan, count: m * n)
            for _ in 0..<20 where blas_sgemm(false, true, m, n, k, 1, a, k, b, k, 0, &c, n) != blas_ok { return .infinity }
            var worst = 0.0
            for i in 0..<m {
                for j in 0..<n {
                    let sum = (0..<k).reduce(0.0) { $0 + Double(a[i * k + $1]) * Double(b[j * k + $1]) }
                    worst = max(worst, abs(sum - Double(c[i * n + j])))
                }
            }
            return worst
        }
        let errors = await withTaskGroup(of: Double.self) { group in
            for seed in UInt64(0)..<16 { group.addTask { worst(seed) } }
            return await group.reduce(into: []) { $0.append($1) }
        }
        #expect(errors.count == 16 && errors.allSatisfy { $0 < 2e-5 })
    }
}
