import Testing

@testable import Runtime

@Suite struct WorkerPoolTests {
    /// Marks, for every piece, how often it ran; out-of-range workers show as a negative count.
    private func marks(threads: Int, count: Int) -> [Int] {
        var marks = [Int](repeating: 0, count: count)
        marks.withUnsafeMutableBufferPointer { marks in
            let pointer = marks.baseAddress
            WorkerPool.parallelFor(threads: threads, count: count) { piece, worker in
                pointer?[piece] += worker >= 0 && worker < threads ? 1 : -1000
            }
        }
        return marks
    }

    @Test func everyPieceRunsOnce() {
        for threads in [1, 2, 5] {
            for count in [0, 1, 2, 3, 100, 10_000] { #expect(marks(threads: threads, count: count) == Array(repeating: 1, count: count)) }
        }
        for _ in 0..<2000 { #expect(marks(threads: 2, count: 3) == [1, 1, 1]) }
    }

    @Test func callsFromManyTasksAtOnceAllFinish() async {
        await withTaskGroup(of: Bool.self) { group in
            for _ in 0..<8 { group.addTask { (0..<200).allSatisfy { _ in marks(threads: 3, count: 7) == Array(repeating: 1, count: 7) } } }
            for await isRight in group { #expect(isRight) }
        }
    }

    @Test func callsInsideACallRunOnTheSpot() {
        var sums = [Int](repeating: 0, count: 4)
        sums.withUnsafeMutableBufferPointer { sums in
            let pointer = sums.baseAddress
            WorkerPool.parallelFor(threads: 2, count: 4) { piece, _ in
                WorkerPool.parallelFor(threads: 2, count: 10) { inner, _ in pointer?[piece] += inner }
            }
        }
        #expect(sums == [45, 45, 45, 45])
    }

    @Test func reportsTheMachine() {
        let report = SystemReport.current()
        #expect(report.threads >= 1)
        #expect(!report.kernels.isEmpty)
        #expect(report.blas.isAvailable ? report.blas.selfCheckError <= report.blas.selfCheckBound : !report.blas.message.isEmpty)
    }

    /// Kernels keep scratch memory for as many workers as there are pieces: another number wrote behind it.
    @Test func workersAreNoMoreThanPieces() {
        for count in 2...4 {
            for _ in 0..<2000 {
                var workers = [Int](repeating: -1, count: count)
                workers.withUnsafeMutableBufferPointer { target in
                    nonisolated(unsafe) let target = target
                    WorkerPool.parallelFor(threads: 8, count: count) { piece, worker in target[piece] = worker }
                }
                #expect(workers.allSatisfy { (0..<count).contains($0) })
            }
        }
    }
}
