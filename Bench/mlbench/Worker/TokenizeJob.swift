import BenchmarkSuite
import Dispatch
import Foundation
import Synchronization
import Tokenizers

/// Lines of text to token ids, the lines dealt out to the threads.
struct TokenizeJob: WorkerJob {
    let loaded = WorkerReply.Loaded(version: "", uses: "")
    private let tokenizer: Tokenizer
    private let lines: [String]
    private let threads: Int

    init(_ file: URL, lines: [String], threads: Int) throws {
        tokenizer = try Tokenizer(contentsOf: file)
        self.lines = lines
        self.threads = threads
    }

    func run() throws -> Double {
        let failure = Mutex<(any Error)?>(nil)
        let portion = max(min(256, lines.count / threads), 1)
        let next = Atomic<Int>(0)
        let time = seconds {
            DispatchQueue.concurrentPerform(iterations: threads) { _ in
                do {
                    while true {
                        let start = next.wrappingAdd(portion, ordering: .relaxed).oldValue
                        guard start < lines.count else { break }
                        for line in lines[start..<min(start + portion, lines.count)] { _ = try tokenizer.encode(line) }
                    }
                } catch {
                    failure.withLock { $0 = error }
                }
            }
        }
        if let error = failure.withLock({ $0 }) { throw error }
        return time
    }

    /// The number of bytes, then the ids of each line.
    func answer() throws -> [[Double]] {
        [[Double(lines.reduce(0) { $0 + $1.utf8.count })]] + (try lines.map { try tokenizer.encode($0).ids.map(Double.init) })
    }
}
