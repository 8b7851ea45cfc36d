import CCommandLine
import Synchronization

#if canImport(Glibc)
import Glibc
#elseif canImport(Musl)
import Musl
#elseif canImport(Darwin)
import Darwin
#endif

/// A bar on stderr for work of known size; silent where stderr is no terminal.
public final class ProgressBar: Sendable {
    private let label: String
    private let total: Int
    private let columns: Int
    private let state = Mutex((done: 0, drawn: -1))

    public init(_ label: String, total: Int) {
        self.label = label
        self.total = max(total, 1)
        columns = Int(ccl_terminal_columns(STDERR_FILENO))
    }

    public func advance(by count: Int = 1) {
        guard columns > 0 else { return }
        let line: String? = state.withLock { state in
            state.done = min(state.done + count, total)
            let width = max(min(columns - label.unicodeScalars.count - 12, 40), 4)
            let filled = state.done * width / total
            let percent = state.done * 100 / total
            // Redrawn only when it would look different.
            guard percent != state.drawn else { return nil }
            state.drawn = percent
            return "\r\(label) [\(String(repeating: "#", count: filled))\(String(repeating: ".", count: width - filled))] \(percent) %"
        }
        if let line { StandardError.write(line) }
    }

    /// Removes the bar.
    public func finish() {
        guard columns > 0 else { return }
        StandardError.write("\r\u{1B}[K")
    }
}
