import CWorkerPool

/// The process's worker threads. Work is cut into pieces by its shape alone, or where results do not depend on the cut, so that they do not
/// depend on how many threads there are.
enum WorkerPool {
    /// The CPUs that the process may use.
    static var processorCount: Int { Int(pool_processor_count()) }

    /// Rows of a matrix for each piece of work that reads it once: pieces so long that memory streams, and enough of them to share out evenly.
    /// For kernels whose rows stand alone, so that the cut, which depends on the threads, changes no result.
    static func rowsPerPiece(rows: Int, rowBytes: Int, threads: Int) -> Int {
        let shares = 4 * max(threads, 1)
        let even = (rows + shares - 1) / shares
        let least = 16_384 / max(rowBytes, 1), most = 262_144 / max(rowBytes, 1)
        return (max(least, min(most, even), 1) + 3) / 4 * 4
    }

    /// Calls `body(piece, worker)` for every piece in `0..<count`, on up to `threads` threads at once; `worker` is below `threads` and below `count`,
    /// so that memory for as many workers as there are pieces suffices.
    /// Bodies may write only what no other piece touches.
    static func parallelFor(threads: Int, count: Int, _ body: (_ piece: Int, _ worker: Int) -> Void) {
        if threads < 2 || count < 2 {
            for piece in 0..<max(count, 0) { body(piece, 0) }
            return
        }
        withoutActuallyEscaping(body) { body in
            var shared = body
            withUnsafeMutablePointer(to: &shared) { pointer in
                pool_parallel_for(
                    min(threads, count), count,
                    { context, piece, worker in
                        context?.assumingMemoryBound(to: ((Int, Int) -> Void).self).pointee(Int(piece), Int(worker))
                    }, pointer)
            }
        }
    }
}
