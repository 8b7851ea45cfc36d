#if canImport(Glibc)
import Glibc
#elseif canImport(Musl)
import Musl
#elseif canImport(Darwin)
import Darwin
#endif

/// How an executor runs.
public struct ExecutorOptions: Sendable {
    /// Threads of one run; nil: as many as the process has CPUs. Results do not depend on it.
    public var threads: Int?
    /// Bytes that one run may take for intermediates and outputs; a run that needs more fails before it starts. nil: the
    /// machine's memory.
    public var memoryLimit: Int?
    /// Receives the time of every node of every run.
    public var profiler: Profiler?

    public init(threads: Int? = nil, memoryLimit: Int? = nil, profiler: Profiler? = nil) {
        self.threads = threads
        self.memoryLimit = memoryLimit
        self.profiler = profiler
    }

    /// The threads to use, at least 1.
    var threadCount: Int { min(max(threads ?? WorkerPool.processorCount, 1), 256) }

    var memoryBytes: Int {
        if let memoryLimit { return max(memoryLimit, 0) }
        let (bytes, overflow) = Int(sysconf(Int32(_SC_PHYS_PAGES))).multipliedReportingOverflow(by: Int(sysconf(Int32(_SC_PAGESIZE))))
        return overflow || bytes <= 0 ? 1 << 32 : bytes
    }
}
