import BenchmarkSuite
import CommandLineTools
import Foundation
import Runtime

let casesOption = CommandOption(
    "cases", argument: "LIST", help: "only cases whose names match one of these regular expressions, commas between; default: all")
let quickOption = CommandOption("quick", help: "a few cases, five rounds, all cores")

let runCommand = Command(
    name: "run", summary: "run the suite and write its results", operands: "-o RESULTS.json",
    discussion: """
        Every contestant of a case works in a process of its own. Their answers are compared first; then they are timed in turn, round by round.
        A peer that is not installed, does not do such work or gives another answer is named with the reason.
        """,
    options: [
        CommandOption("output-file", short: "o", argument: "FILE", help: "the results, JSON; written after every case (required)"),
        casesOption, quickOption,
        CommandOption("threads", argument: "LIST", help: "numbers of threads, commas between (default: 1 and the number of cores)"),
        CommandOption("rounds", argument: "N", help: "rounds of each case (default: 7)"),
        CommandOption("peers", argument: "LIST", help: "\(Contestant.peers.joined(separator: ",")), or none (default: all)"),
        CommandOption("models", argument: "FOLDER", help: "what make_models.py filled (default: Models/fetched/bench)"),
        CommandOption("python", argument: "PROGRAM", help: "the Python that has the peers (default: python3)"),
        CommandOption("peers-folder", argument: "FOLDER", help: "the peers' programs (default: Bench/peers)"),
    ],
    examples: ["mlbench run --quick -o quick.json", "mlbench run --cases 'minilm-.*-f32' --threads 2 --peers onnxruntime -o results.json"]
) { arguments in
    guard arguments.operands.isEmpty else { throw UsageError("run takes no operands") }
    guard let output = arguments.value("output-file") else { throw UsageError("run needs -o RESULTS.json") }
    let isQuick = arguments.has("quick")
    let cores = SystemReport.current().threads
    let threads = try arguments.integers("threads", in: 1...1024) ?? (isQuick ? [cores] : Set([1, cores]).sorted())
    guard threads.allSatisfy({ (1...1024).contains($0) }) else { throw UsageError("--threads takes numbers from 1 to 1024") }
    let options = BenchmarkRun.Options(
        threads: threads, rounds: try arguments.integer("rounds", in: 1...1000) ?? (isQuick ? 5 : 7), secondsPerRound: isQuick ? 0.1 : 0.3,
        models: arguments.value("models") ?? "Models/fetched/bench")
    guard FileManager.default.fileExists(atPath: options.models) else {
        throw CommandError("there is no folder \(options.models); make the models with Bench/make_models.py")
    }
    let cases = try selectedCases(arguments)
    var results = BenchmarkResults(
        machine: .current(threads: threads), date: ISO8601DateFormatter().string(from: Date()), cases: [])
    var run = BenchmarkRun(try contestants(arguments), options: options) { StandardError.write("\($0)\n") }
    try run.run(cases) { result in
        results.cases.append(result)
        try Data((results.json.text + "\n").utf8).write(to: URL(fileURLWithPath: output), options: .atomic)
    }
}

let casesCommand = Command(
    name: "cases", summary: "list the cases", options: [casesOption, quickOption], examples: ["mlbench cases --quick"]
) { arguments in
    for item in try selectedCases(arguments) { try StandardOutput.write("\(item.name)\t\(item.kind.rawValue)\n") }
}

private func selectedCases(_ arguments: Arguments) throws -> [BenchmarkCase] {
    let candidates = CaseList.all.filter { $0.isQuick || !arguments.has("quick") }
    guard let list = arguments.value("cases") else { return candidates }
    let patterns = try list.split(separator: ",").map { pattern in
        do { return try NSRegularExpression(pattern: String(pattern)) } catch { throw UsageError("--cases: '\(pattern)' is no regular expression") }
    }
    let chosen = candidates.filter { item in
        patterns.contains { $0.firstMatch(in: item.name, range: NSRange(location: 0, length: item.name.utf16.count)) != nil }
    }
    guard !chosen.isEmpty else { throw UsageError("no case matches '\(list)'; 'mlbench cases' lists them") }
    return chosen
}

private func contestants(_ arguments: Arguments) throws -> [Contestant] {
    guard let program = Bundle.main.executablePath else { throw CommandError("the program does not know its own path") }
    let own = Contestant(name: Contestant.own, command: [program, "worker"])
    var names = Contestant.peers
    if let list = arguments.value("peers") {
        names = list == "none" ? [] : list.split(separator: ",").map(String.init)
        if let unknown = names.first(where: { !Contestant.peers.contains($0) }) {
            throw UsageError("unknown peer '\(unknown)'; the peers are \(Contestant.peers.joined(separator: ", "))")
        }
    }
    let python = arguments.value("python") ?? "python3"
    let script = (arguments.value("peers-folder") ?? "Bench/peers") + "/worker.py"
    guard names.isEmpty || FileManager.default.fileExists(atPath: script) else {
        throw CommandError("there is no \(script); run from the root of the project, or give --peers-folder")
    }
    return [own] + names.map { Contestant(name: $0, command: [python, script, $0]) }
}
