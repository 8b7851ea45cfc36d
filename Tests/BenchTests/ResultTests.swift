@testable import BenchmarkSuite
import Foundation
import JSON
import TestSupport
import Testing

/// Tables, charts and comparisons of results made by hand.
@Suite struct ResultTests {
    static func contestant(_ name: String, _ rounds: [Double], version: String = "", uses: String = "", bytes: Int? = nil) -> ContestantResult {
        ContestantResult(
            name: name, version: version, uses: uses, rounds: rounds, loadSeconds: 0.5, peakBytes: 200 << 20, agreement: 1, weightBytes: bytes)
    }

    static func results(_ cases: [CaseResult], load: Double = 0) -> BenchmarkResults {
        let machine = Machine(
            cpu: "A CPU", features: ["avx2"], cores: 2, system: "A system", blas: "none", commit: "abc", loadAverage: load,
            readBandwidth: [.init(threads: 1, bytesPerSecond: 10e9)])
        return BenchmarkResults(machine: machine, date: "2026-01-02T03:04:05Z", cases: cases)
    }

    static let encode = CaseResult(
        name: "m-1x16-f32", kind: .encode, threads: 1, work: 1,
        contestants: [
            contestant("mlgraph", [0.010, 0.012, 0.011]), contestant("torch", [0.033, 0.033, 0.033], version: "9.9"), contestant("openvino", [0.022, 0.018, 0.022]),
        ], absent: [.init(name: "onnxruntime", reason: "not installed: there is no Python module onnxruntime")])
    static let decode = CaseResult(
        name: "g-decode128-int8", kind: .decode, threads: 1, work: 100,
        contestants: [contestant("mlgraph", [2, 2, 2], bytes: 100_000_000), contestant("ctranslate2", [1, 1, 1], uses: "int8")], absent: [])

    @Test func jsonHoldsEverything() throws {
        try Fixtures.withTemporaryFolder { folder in
            let results = Self.results([Self.encode, Self.decode], load: 1.5)
            let url = folder.appendingPathComponent("r.json")
            try Data(results.json.text.utf8).write(to: url)
            #expect(try BenchmarkResults(contentsOf: url) == results)
        }
    }

    @Test(arguments: [
        ("", "r.json: invalid JSON"), ("{}", "r.json.format is missing"), ("{\"format\":99}", "r.json has format 99"),
        ("{\"format\":1,\"machine\":3}", "r.json.machine is a number, expected an object"),
    ])
    func filesThatAreNoResultsAreNamed(text: String, message: String) throws {
        try Fixtures.withTemporaryFolder { folder in
            let url = folder.appendingPathComponent("r.json")
            try Data(text.utf8).write(to: url)
            let error = #expect(throws: ResultsError.self) { try BenchmarkResults(contentsOf: url) }
            #expect(error?.description.hasPrefix(message) == true, "\(error?.description ?? "")")
        }
    }

    @Test func theTableHasMediansTheFastestPeerAndTheSpread() {
        let text = ResultTable.markdown(Self.results([Self.encode, Self.decode]))
        #expect(text.contains("| case | mlgraph | openvino | torch | ratio | range |"))
        // Ratios of the rounds to openvino, the fastest peer: 2.2, 1.5, 2.
        #expect(text.contains("| m-1x16-f32 | **11.0** | 22.0 | 33.0 | 2.00 | 1.50 to 2.20 |"))
        // 100 tokens in 2 s and in 1 s.
        #expect(text.contains("| g-decode128-int8 | 50.0 | **100 (int8)** | 0.50 | 0.50 to 0.50 |"))
        // 100 MB a token, 50 tokens a second, of 10 GB/s.
        #expect(text.contains("g-decode128-int8: mlgraph reads weights at 5.00 GB/s, 50 % of plain reading."))
        #expect(text.contains("- onnxruntime, m-1x16-f32: not installed"))
        #expect(text.contains("torch 9.9"))
        #expect(text.contains("| m-1x16-f32 | 1 | 0.50 / 200 | 0.50 / 200 | 0.50 / 200 | - |"))
    }

    @Test func theChartIsWellFormedAndHasADotForEachPeer() throws {
        let svg = ResultChart.svg(Self.results([Self.encode, Self.decode]))
        #expect(XMLCheck().isWellFormed(svg))
        // Three peers in the legend; two dots in the first case, one in the second.
        #expect(svg.components(separatedBy: "<circle").count - 1 == 3 + 3)
        #expect(svg.contains("m-1x16-f32, 1"))
    }

    private static func run(_ rounds: [Double], name: String = "m-1x16-f32", load: Double = 0) -> BenchmarkResults {
        results([CaseResult(name: name, kind: .encode, threads: 1, work: 1, contestants: [contestant("mlgraph", rounds)], absent: [])], load: load)
    }

    @Test func slowerIsWhatExceedsTheThresholdAndTheSpread() {
        let old = Self.run([1.00, 1.01, 1.02, 1.01, 1.00])
        func verdict(_ rounds: [Double]) -> ResultComparison.Verdict? { ResultComparison(old: old, new: Self.run(rounds)).rows.first?.verdict }
        #expect(verdict([1.00, 1.02, 1.01, 1.02, 1.01]) == .same)
        // Beyond the spread, below the threshold.
        #expect(verdict([1.03, 1.03, 1.03, 1.03, 1.03]) == .same)
        #expect(verdict([1.20, 1.21, 1.22, 1.20, 1.21]) == .slower)
        // The median is beyond the threshold, the rounds say nothing.
        #expect(verdict([0.90, 1.00, 1.10, 1.50, 1.60]) == .same)
        #expect(verdict([0.80, 0.81, 0.82, 0.80, 0.81]) == .faster)
        #expect(ResultComparison(old: old, new: Self.run([1], name: "other")).rows.map(\.verdict) == [.missing])
    }

    @Test func anotherMachineAndALoadedOneAreWarnings() {
        var other = Self.run([1], load: 3)
        #expect(ResultComparison(old: Self.run([1]), new: other).warnings.count == 1)
        other.machine.cpu = "Another CPU"
        #expect(ResultComparison(old: Self.run([1]), new: other).warnings.count == 2)
    }

    @Test func theToolFailsOnARegressionAndNamesIt() throws {
        let mlbench = try ToolRunner("mlbench")
        try Fixtures.withTemporaryFolder { folder in
            let paths = try ["old", "slow"].enumerated().map { index, name in
                let url = folder.appendingPathComponent("\(name).json")
                try Data(Self.run(index == 0 ? [1, 1, 1] : [2, 2, 2]).json.text.utf8).write(to: url)
                return url.path
            }
            #expect(try mlbench.run("compare", paths[0], paths[0]).status == 0)
            let slower = try mlbench.run("compare", paths[0], paths[1])
            #expect(slower.status == 1)
            #expect(slower.errorOutput == "mlbench: slower: m-1x16-f32 with 1 thread(s)\n")
            #expect(slower.output.contains("| m-1x16-f32 | 1 | 2.00 | slower |"))
            #expect(try mlbench.run("table", paths[0]).output.hasPrefix("# Measured 2026-01-02T03:04:05Z"))
            #expect(try mlbench.run("chart", paths[0]).output.hasPrefix("<svg "))
            #expect(try mlbench.run("table", folder.appendingPathComponent("none").path).status == 1)
            #expect(try mlbench.run("compare", paths[0]).status == 2)
        }
    }

    @Test func aRunWithoutPeersMeasuresThisProject() throws {
        let mlbench = try ToolRunner("mlbench")
        try Fixtures.withTemporaryFolder { folder in
            let models = folder.appendingPathComponent("wordpiece")
            try FileManager.default.createDirectory(at: models, withIntermediateDirectories: true)
            try Data("one line\nand another\n".utf8).write(to: folder.appendingPathComponent("text.txt"))
            let output = folder.appendingPathComponent("r.json")
            let common = ["run", "--models", folder.path, "--peers", "none", "--rounds", "3", "--threads", "1", "-o", output.path]
            // Without its tokenizer the project's own worker has failed: an error, no empty result.
            #expect(try mlbench.run(common + ["--cases", "wordpiece"]).status == 1)
            try Data(
                """
                {"version":"1.0","truncation":null,"padding":null,"added_tokens":[],"normalizer":null,"pre_tokenizer":{"type":"Whitespace"},\
                "post_processor":null,"decoder":null,"model":{"type":"WordLevel","vocab":{"one":0,"?":1},"unk_token":"?"}}
                """.utf8
            ).write(to: models.appendingPathComponent("tokenizer.json"))
            let result = try mlbench.run(common + ["--cases", "wordpiece"])
            #expect(result.status == 0, "\(result.errorOutput)")
            let results = try BenchmarkResults(contentsOf: output)
            #expect(results.cases.map(\.name) == ["wordpiece-text"])
            #expect(results.cases.first?.own?.rounds.count == 3)
            #expect(results.cases.first?.work == "one lineand another".utf8.count)
            #expect(try mlbench.run(common + ["--cases", "no-such-case"]).status == 2)
        }
    }
}

/// Whether a text is well-formed XML: tags nest and close, attributes are quoted.
private struct XMLCheck {
    func isWellFormed(_ text: String) -> Bool {
        var open: [Substring] = []
        for part in text.split(separator: "<", omittingEmptySubsequences: true) {
            guard let end = part.firstIndex(of: ">") else { return part.allSatisfy(\.isWhitespace) }
            let tag = part[..<end]
            if tag.filter({ $0 == "\"" }).count % 2 != 0 { return false }
            if tag.hasPrefix("/") {
                guard open.popLast() == tag.dropFirst() else { return false }
            } else if !tag.hasSuffix("/") {
                open.append(tag.prefix { !$0.isWhitespace })
            }
        }
        return open.isEmpty
    }
}
