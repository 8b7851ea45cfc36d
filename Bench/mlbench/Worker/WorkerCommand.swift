import BenchmarkSuite
import CommandLineTools
import Foundation

#if canImport(Darwin)
import Darwin
#endif

let workerCommand = Command(
    name: "worker", summary: "work for 'mlbench run': requests on standard input, replies on standard output, JSON lines"
) { _ in
    var reader = LineReader()
    var job: (any WorkerJob)?
    while let line = try reader.next() {
        let reply: WorkerReply
        do { reply = try answer(try WorkerRequest(line: line), &job) } catch { reply = .failed("\(error)") }
        try StandardOutput.write(reply.line + "\n")
        try StandardOutput.flush()
    }
}

/// One loaded case.
protocol WorkerJob {
    /// What the loading reports.
    var loaded: WorkerReply.Loaded { get }
    /// Does the work once.
    ///
    /// - Returns: The seconds that count.
    mutating func run() throws -> Double
    /// Does the work once and gives what the contestants compare.
    mutating func answer() throws -> [[Double]]
}

private func answer(_ request: WorkerRequest, _ job: inout (any WorkerJob)?) throws -> WorkerReply {
    switch request {
    case .load(let task):
        guard let made = try makeJob(task) else { return .skipped("there is no model in \(task.folder) for this; make it with Bench/make_models.py") }
        job = made
        return .loaded(made.loaded)
    case .memory: return .peakBytes(try peakMemory())
    case .answer:
        guard var loaded = job else { throw ProtocolError("nothing is loaded") }
        defer { job = loaded }
        return .answer(try loaded.answer())
    case .run(let times):
        guard var loaded = job else { throw ProtocolError("nothing is loaded") }
        defer { job = loaded }
        return .seconds(try (0..<times).map { _ in try loaded.run() })
    }
}

/// - Returns: nil where the model is not there.
private func makeJob(_ task: BenchmarkTask) throws -> (any WorkerJob)? {
    let graph = URL(fileURLWithPath: task.folder).appendingPathComponent("\(task.precision?.rawValue ?? "").graph")
    guard task.kind == .tokenize || FileManager.default.fileExists(atPath: graph.path) else { return nil }
    switch (task.kind, task.work) {
    case (.encode, .rows(let rows)): return try EncodeJob(graph, rows: rows, threads: task.threads)
    case (.embed, .lines(let file, let count)): return try EmbedJob(graph, lines: lines(file, count), threads: task.threads)
    case (.prompt, .prompt(let ids, _)): return try PromptJob(graph, prompt: ids, threads: task.threads)
    case (.decode, .prompt(let ids, let count)): return try DecodeJob(graph, prompt: ids, newTokens: count, threads: task.threads)
    case (.tokenize, .lines(let file, let count)):
        return try TokenizeJob(URL(fileURLWithPath: task.folder).appendingPathComponent("tokenizer.json"), lines: lines(file, count), threads: task.threads)
    default: throw ProtocolError("the work of a case of kind \(task.kind.rawValue) has another form")
    }
}

private func lines(_ file: String, _ count: Int) throws -> [String] {
    try String(contentsOfFile: file, encoding: .utf8).split(separator: "\n").prefix(count).map(String.init)
}

/// The most memory that this process ever had, in bytes.
private func peakMemory() throws -> Int {
    #if canImport(Darwin)
    var usage = rusage()
    guard getrusage(RUSAGE_SELF, &usage) == 0 else { throw CommandError("the system does not say how much memory was used") }
    return usage.ru_maxrss
    #else
    // The kernel's count for this program alone; what getrusage says here begins with the parent's.
    for line in try String(contentsOfFile: "/proc/self/status", encoding: .utf8).split(separator: "\n") where line.hasPrefix("VmHWM:") {
        if let kibibytes = line.split(whereSeparator: { $0 == " " || $0 == "\t" }).dropFirst().first.flatMap({ Int($0) }) { return kibibytes * 1024 }
    }
    throw CommandError("the system does not say how much memory was used")
    #endif
}

func seconds(of body: () throws -> Void) rethrows -> Double {
    let clock = ContinuousClock()
    let start = clock.now
    try body()
    let components = start.duration(to: clock.now).components
    return Double(components.seconds) + Double(components.attoseconds) * 1e-18
}
