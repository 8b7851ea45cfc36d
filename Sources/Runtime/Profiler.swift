import Foundation

/// Collects the time of every node. One profiler may serve several executors and threads.
public final class Profiler: Sendable {
    /// The total of one node over all runs.
    public struct Entry: Sendable, Hashable {
        /// The first output's name in the graph.
        public let value: String
        /// The operator's name in graph text.
        public let op: String
        /// The kernel that ran, with the shapes it was made for.
        public let kernel: String
        public var runs: Int
        public var seconds: Double
    }

    private struct Key: Hashable {
        let value: String
        let kernel: String
    }

    private struct State {
        var order: [Key] = []
        var entries: [Key: Entry] = [:]
    }

    private let state = Locked(State())

    public init() {}

    func record(value: String, op: String, kernel: String, seconds: Double) {
        state.withLock { state in
            let key = Key(value: value, kernel: kernel)
            if state.entries[key] == nil {
                state.order.append(key)
                state.entries[key] = Entry(value: value, op: op, kernel: kernel, runs: 0, seconds: 0)
            }
            state.entries[key]?.runs += 1
            state.entries[key]?.seconds += seconds
        }
    }

    /// In the order in which nodes first ran.
    public var entries: [Entry] { state.withLock { state in state.order.compactMap { state.entries[$0] } } }

    static func now() -> Double {
        var time = timespec()
        clock_gettime(CLOCK_MONOTONIC, &time)
        return Double(time.tv_sec) + Double(time.tv_nsec) * 1e-9
    }
}
