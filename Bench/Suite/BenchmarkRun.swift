import CommandLineTools
import Foundation

/// Runs cases: all contestants of a case are loaded, their answers compared, then each is timed in turn, round by round.
public struct BenchmarkRun {
    public struct Options: Sendable {
        public var threads: [Int]
        public var rounds: Int
        /// Time that one contestant's share of a round should take; a repetition that is longer is a round by itself.
        public var secondsPerRound: Double
        /// The folder that `make_models.py` filled.
        public var models: String

        public init(threads: [Int], rounds: Int, secondsPerRound: Double, models: String) {
            self.threads = threads
            self.rounds = rounds
            self.secondsPerRound = secondsPerRound
            self.models = models
        }
    }

    private let options: Options
    /// This project first.
    private let contestants: [Contestant]
    private let log: (String) -> Void
    /// Peers that are not installed; they are not asked again.
    private var missing: [String: String] = [:]

    /// What workers say where a module that they need is not there.
    private static let missingMark = "not installed"
    /// Threads of a contestant that has just run may spin for a while before they sleep.
    private static let pause = 0.03

    public init(_ contestants: [Contestant], options: Options, log: @escaping (String) -> Void) {
        self.contestants = contestants
        self.options = options
        self.log = log
    }

    /// - Parameter finished: Called after each case, so that an interrupted run keeps what it has.
    /// - Throws: where this project's own worker fails. A peer that fails is named among the absent.
    public mutating func run(_ cases: [BenchmarkCase], finished: (CaseResult) throws -> Void) throws {
        for threads in options.threads {
            for item in cases {
                log("\(item.name), \(threads) thread\(threads == 1 ? "" : "s")")
                let task = BenchmarkTask(item, threads: threads, models: options.models)
                var result = CaseResult(name: item.name, kind: item.kind, threads: threads, work: 1, contestants: [], absent: [])
                if item.kind == .start {
                    try timeStarts(task, &result)
                } else {
                    try timeRuns(item, task, &result)
                }
                for absent in result.absent { log("  \(absent.name): \(absent.reason)") }
                try finished(result)
            }
        }
    }

    private mutating func timeRuns(_ item: BenchmarkCase, _ task: BenchmarkTask, _ result: inout CaseResult) throws {
        var entries: [(worker: WorkerProcess, times: Int)] = []
        defer { for entry in entries { entry.worker.stop() } }
        var reference: [[Double]]?
        for contestant in contestants where result.ownTakesPart {
            guard let (worker, loaded) = try start(contestant, task, &result) else { continue }
            do {
                let answer = try worker.answer()
                if contestant.name == Contestant.own {
                    reference = answer
                    result.work = try Self.work(item, answer)
                }
                let agreement = reference.map { Agreement.measure(task.kind, $0, answer) } ?? 1
                try Self.require(agreement, item)
                let once = try worker.run(times: 1)
                let times = min(max(Int(options.secondsPerRound / max(once[0], 1e-6)), 1), 1000)
                entries.append((worker, times))
                result.contestants.append(
                    ContestantResult(
                        name: contestant.name, version: loaded.version, uses: loaded.uses, rounds: [], loadSeconds: worker.loadSeconds, peakBytes: 0,
                        agreement: agreement, weightBytes: loaded.weightBytes))
            } catch {
                worker.stop()
                try exclude(contestant, error, &result)
            }
        }
        for _ in 0..<options.rounds {
            for (worker, times) in entries {
                try measure(worker.contestant, &result) { index, result in
                    Thread.sleep(forTimeInterval: Self.pause)
                    let seconds = try worker.run(times: times)
                    result.contestants[index].rounds.append(Statistics(seconds)?.median ?? 0)
                }
            }
        }
        for (worker, _) in entries {
            try measure(worker.contestant, &result) { index, result in result.contestants[index].peakBytes = try worker.peakBytes() }
        }
    }

    /// One measurement of a contestant that has not failed yet.
    private func measure(_ contestant: Contestant, _ result: inout CaseResult, _ body: (Int, inout CaseResult) throws -> Void) throws {
        guard let index = result.contestants.firstIndex(where: { $0.name == contestant.name }) else { return }
        do { try body(index, &result) } catch { try exclude(contestant, error, &result) }
    }

    /// Each round starts every contestant's process anew.
    private mutating func timeStarts(_ task: BenchmarkTask, _ result: inout CaseResult) throws {
        var reference: [[Double]]?
        // The round before the first one brings the files into the page cache, and says who takes part.
        for round in 0...options.rounds {
            for contestant in contestants where result.ownTakesPart && !result.absent.contains(where: { $0.name == contestant.name }) {
                guard let (worker, loaded) = try start(contestant, task, &result) else { continue }
                defer { worker.stop() }
                do {
                    let answer = try worker.answer()
                    let seconds = worker.age
                    if round == 0 {
                        if contestant.name == Contestant.own { reference = answer }
                        let agreement = reference.map { Agreement.measure(task.kind, $0, answer) } ?? 1
                        if let required = Agreement.required(task.kind, task.precision), agreement < required {
                            throw Disagreement(measured: agreement, required: required)
                        }
                        result.contestants.append(
                            ContestantResult(
                                name: contestant.name, version: loaded.version, uses: loaded.uses, rounds: [], loadSeconds: 0, peakBytes: 0,
                                agreement: agreement, weightBytes: loaded.weightBytes))
                    } else if let index = result.contestants.firstIndex(where: { $0.name == contestant.name }) {
                        result.contestants[index].rounds.append(seconds)
                        result.contestants[index].loadSeconds = worker.loadSeconds
                        result.contestants[index].peakBytes = max(result.contestants[index].peakBytes, try worker.peakBytes())
                    }
                } catch {
                    try exclude(contestant, error, &result)
                }
            }
        }
    }

    /// A loaded worker; nil where the contestant does not take part, which `result` says then.
    private mutating func start(
        _ contestant: Contestant, _ task: BenchmarkTask, _ result: inout CaseResult
    ) throws -> (WorkerProcess, WorkerReply.Loaded)? {
        if let reason = missing[contestant.name] {
            result.absent.append(CaseResult.Absent(name: contestant.name, reason: reason))
            return nil
        }
        let worker = try WorkerProcess(contestant)
        do {
            switch try worker.load(task) {
            case .success(let loaded): return (worker, loaded)
            case .failure(let absence):
                if absence.reason.hasPrefix(Self.missingMark) { missing[contestant.name] = absence.reason }
                result.absent.append(CaseResult.Absent(name: contestant.name, reason: absence.reason))
            }
        } catch {
            worker.stop()
            try exclude(contestant, error, &result)
            return nil
        }
        worker.stop()
        return nil
    }

    private func exclude(_ contestant: Contestant, _ error: any Error, _ result: inout CaseResult) throws {
        guard contestant.name != Contestant.own else { throw error }
        result.contestants.removeAll { $0.name == contestant.name }
        result.absent.append(CaseResult.Absent(name: contestant.name, reason: "\(error)"))
    }

    private static func require(_ agreement: Double, _ item: BenchmarkCase) throws {
        guard let required = Agreement.required(item.kind, item.precision), agreement < required else { return }
        throw Disagreement(measured: agreement, required: required)
    }

    /// Units of work in one repetition.
    private static func work(_ item: BenchmarkCase, _ answer: [[Double]]) throws -> Int {
        switch item.work {
        case .rows(let rows): return rows.count
        case .prompt(let ids, let newTokens): return item.kind == .decode ? newTokens - 1 : ids.count
        // Tokenizers are measured in bytes; their first row is the number of bytes, then come the ids.
        case .lines(let count): return item.kind == .tokenize ? Int(exactly: answer.first?.first ?? 0) ?? 0 : count
        }
    }
}

/// A peer whose answer is too far from this project's: its time means nothing.
struct Disagreement: Error, CustomStringConvertible {
    let measured: Double
    let required: Double
    var description: String { "its answer agrees with this project's to \(measured) only, \(required) is required; not timed" }
}

extension CaseResult {
    /// Without this project there is nothing to compare with.
    fileprivate var ownTakesPart: Bool { !absent.contains { $0.name == Contestant.own } }
}
