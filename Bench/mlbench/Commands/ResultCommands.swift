import BenchmarkSuite
import CommandLineTools
import Foundation

let tableCommand = Command(
    name: "table", summary: "show results as Markdown", operands: "RESULTS.json", examples: ["mlbench table results.json > results.md"]
) { arguments in
    try StandardOutput.write(ResultTable.markdown(try results(arguments, count: 1)[0]))
}

let chartCommand = Command(
    name: "chart", summary: "draw results as SVG", operands: "RESULTS.json -o CHART.svg",
    options: [CommandOption("output-file", short: "o", argument: "FILE", help: "the drawing (default: standard output)")],
    examples: ["mlbench chart results.json -o results.svg"]
) { arguments in
    let drawing = ResultChart.svg(try results(arguments, count: 1)[0])
    guard let path = arguments.value("output-file") else { return try StandardOutput.write(drawing) }
    try Data(drawing.utf8).write(to: URL(fileURLWithPath: path), options: .atomic)
}

let compareCommand = Command(
    name: "compare", summary: "compare two runs on one machine", operands: "OLD.json NEW.json",
    discussion: """
        Exit status 1 where a case became slower beyond noise: its median grew by more than \(Int(ResultComparison.threshold * 100)) %, and the middle halves of the
        rounds do not overlap.
        """,
    examples: ["mlbench compare Bench/results/results.json new.json"]
) { arguments in
    let runs = try results(arguments, count: 2)
    let comparison = ResultComparison(old: runs[0], new: runs[1])
    for warning in comparison.warnings { StandardError.write("mlbench: warning: \(warning)\n") }
    try StandardOutput.write(comparison.markdown)
    let slower = comparison.regressions.map { "\($0.name) with \($0.threads) thread(s)" }
    guard slower.isEmpty else { throw CommandError("slower: \(slower.joined(separator: ", "))") }
}

private func results(_ arguments: Arguments, count: Int) throws -> [BenchmarkResults] {
    guard arguments.operands.count == count else {
        throw UsageError(count == 1 ? "name one results file" : "name two results files, the old one first")
    }
    return try arguments.operands.map { try BenchmarkResults(contentsOf: URL(fileURLWithPath: $0)) }
}
