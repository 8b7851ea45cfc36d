import CommandLineTools
import Foundation
import Synchronization

/// A contestant's process for one case. Errors end with `stop`.
public final class WorkerProcess {
    public let contestant: Contestant
    /// From before the process was started to the end of its loading.
    public private(set) var loadSeconds = 0.0
    private let process = Process()
    private let toWorker: FileHandle
    private var reader: LineReader
    private let fromWorker: FileHandle
    private let clock = ContinuousClock()
    private let started: ContinuousClock.Instant

    /// A worker that says nothing for that long has failed.
    static let patience = 300.0

    public init(_ contestant: Contestant) throws {
        self.contestant = contestant
        let input = Pipe()
        let output = Pipe()
        process.executableURL = URL(fileURLWithPath: "/usr/bin/env")
        process.arguments = contestant.command
        process.standardInput = input
        process.standardOutput = output
        // What libraries print is no answer.
        process.standardError = FileHandle.nullDevice
        toWorker = input.fileHandleForWriting
        fromWorker = output.fileHandleForReading
        reader = LineReader(descriptor: fromWorker.fileDescriptor, source: "the worker of \(contestant.name)")
        // Writing to a worker that has ended is an error of that write, not the end of this process.
        signal(SIGPIPE, SIG_IGN)
        started = clock.now
        do { try process.run() } catch { throw CommandError("cannot start \(contestant.command.joined(separator: " ")): \(error.localizedDescription)") }
    }

    /// - Returns: nil with the reason where the contestant does not take part.
    public func load(_ task: BenchmarkTask) throws -> Result<WorkerReply.Loaded, Absence> {
        switch try ask(.load(task)) {
        case .loaded(let loaded):
            loadSeconds = started.duration(to: clock.now).seconds
            return .success(loaded)
        case .skipped(let reason): return .failure(Absence(reason: reason))
        case let other: throw unexpected(other)
        }
    }

    public func answer() throws -> [[Double]] {
        guard case .answer(let rows) = try ask(.answer) else { throw ProtocolError("\(contestant.name) gave no answer") }
        return rows
    }

    /// Seconds since the process was started.
    public var age: Double { started.duration(to: clock.now).seconds }

    public func run(times: Int) throws -> [Double] {
        guard case .seconds(let seconds) = try ask(.run(times: times)), seconds.count == times else {
            throw ProtocolError("\(contestant.name) did not say how long \(times) runs took")
        }
        return seconds
    }

    public func peakBytes() throws -> Int {
        guard case .peakBytes(let count) = try ask(.memory) else { throw ProtocolError("\(contestant.name) did not say how much memory it took") }
        return count
    }

    /// Ends the process, without waiting for what it still has to do.
    public func stop() {
        try? toWorker.close()
        if process.isRunning { process.terminate() }
        process.waitUntilExit()
        try? fromWorker.close()
    }

    private func ask(_ request: WorkerRequest) throws -> WorkerReply {
        let name = contestant.name
        do { try toWorker.write(contentsOf: Data((request.line + "\n").utf8)) } catch { throw CommandError("the worker of \(name) has ended") }
        // A process that is ended makes the read below return.
        let process = UncheckedProcess(process)
        let timer = DispatchSource.makeTimerSource(queue: .global())
        timer.schedule(deadline: .now() + Self.patience)
        timer.setEventHandler { process.value.terminate() }
        timer.resume()
        defer { timer.cancel() }
        guard let line = try reader.next() else {
            throw CommandError("the worker of \(name) ended without an answer; run it by hand to see why: \(contestant.command.joined(separator: " "))")
        }
        let reply = try WorkerReply(line: line)
        if case .failed(let reason) = reply { throw CommandError("\(name): \(reason)") }
        return reply
    }

    private func unexpected(_ reply: WorkerReply) -> ProtocolError { ProtocolError("\(contestant.name) sent \(reply.line.prefix(80)) unasked") }
}

/// Why a contestant does not take part in a case.
public struct Absence: Error, Sendable, Hashable { public let reason: String }

/// `terminate` may be called from any thread.
private final class UncheckedProcess: @unchecked Sendable {
    let value: Process
    init(_ value: Process) { self.value = value }
}

extension Duration {
    var seconds: Double { Double(components.seconds) + Double(components.attoseconds) * 1e-18 }
}
