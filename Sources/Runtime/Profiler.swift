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

    /// One run of one node.
    public struct Event: Sendable, Hashable {
        /// As in `Entry`.
        public let value: String
        public let op: String
        public let kernel: String
        /// Seconds of the monotonic clock.
        public let start: Double
        public let seconds: Double
    }

    private struct Key: Hashable {
        let value: String
        let kernel: String
    }

    private struct State {
        var order: [Key] = []
        var entries: [Key: Entry] = [:]
        var events: [Event] = []
    }

    private let state = Locked(State())

    private let keepsEvents: Bool

    /// - Parameter keepsEvents: Every run of every node is kept, not only the totals.
    public init(keepsEvents: Bool = false) { self.keepsEvents = keepsEvents }

    func record(value: String, op: String, kernel: String, start: Double) {
        let seconds = Self.now() - start
        state.withLock { state in
            if keepsEvents { state.events.append(Event(value: value, op: op, kernel: kernel, start: start, seconds: seconds)) }
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

    /// In the order in which they ended; empty unless events are kept.
    public var events: [Event] { state.withLock { $0.events } }

    /// Forgets everything, for example what the first run, which plans, took.
    public func reset() { state.withLock { $0 = State() } }

    static func now() -> Double {
        var time = timespec()
        clock_gettime(CLOCK_MONOTONIC, &time)
        return Double(time.tv_sec) + Double(time.tv_nsec) * 1e-9
    }
}
