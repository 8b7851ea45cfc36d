import Foundation
import JSON
import Runtime

/// What a profiler saw, for people and for trace viewers.
enum RunProfile {
    /// A line for each operator and kernel, most time first: nodes, milliseconds of one run, share.
    static func table(_ entries: [Profiler.Entry], runs: Int) -> String {
        struct Kind: Hashable {
            let op: String
            let kernel: String
        }
        var totals: [Kind: (nodes: Int, seconds: Double)] = [:]
        for entry in entries {
            let kind = Kind(op: entry.op, kernel: entry.kernel)
            let before = totals[kind] ?? (0, 0)
            totals[kind] = (before.nodes + 1, before.seconds + entry.seconds)
        }
        let sum = totals.values.reduce(0) { $0 + $1.seconds }
        var text = "milliseconds\tshare\tnodes\toperator\tkernel\n"
        func line(_ seconds: Double, _ nodes: Int, _ op: String, _ kernel: String) -> String {
            let share = sum > 0 ? seconds / sum * 100 : 0
            return String(format: "%.3f\t%.1f %%\t%d\t", seconds / Double(max(runs, 1)) * 1e3, share, nodes) + "\(op)\t\(kernel)\n"
        }
        // Equal times in the order of names, so that the table is always the same.
        let order = totals.sorted { ($1.value.seconds, $0.key.op, $0.key.kernel) < ($0.value.seconds, $1.key.op, $1.key.kernel) }
        for (kind, total) in order { text += line(total.seconds, total.nodes, kind.op, kind.kernel) }
        return text + line(sum, totals.values.reduce(0) { $0 + $1.nodes }, "all", "")
    }

    /// Complete events of the Trace Event Format, times in microseconds from the first node on.
    static func chromeTrace(_ events: [Profiler.Event]) -> JSONValue {
        let origin = events.map(\.start).min() ?? 0
        return [
            "traceEvents": .array(
                events.map { event in
                    [
                        "name": .string(event.op), "cat": "node", "ph": "X", "ts": .number((event.start - origin) * 1e6), "dur": .number(event.seconds * 1e6),
                        "pid": 1, "tid": 1, "args": ["value": .string(event.value), "kernel": .string(event.kernel)],
                    ]
                }),
            "displayTimeUnit": "ms",
        ]
    }
}
