import CWorkerPool

/// The process's worker threads. Work is cut into pieces by its shape alone, so that results do not depend on how many threads
/// there are.
enum WorkerPool {
    /// The CPUs that the process may use.
    static var processorCount: Int { Int(pool_processor_count()) }

    /// Calls `body(piece, worker)` for every piece in `0..<count`, on up to `threads` threads at once; `worker` is below `threads`.
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
                    threads, count,
                    { context, piece, worker in
                        context?.assumingMemoryBound(to: ((Int, Int) -> Void).self).pointee(Int(piece), Int(worker))
                    }, pointer)
            }
        }
    }
}
