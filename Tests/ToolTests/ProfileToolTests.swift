import Foundation
import JSON
import Tensors
import TestSupport
import Testing

/// `mlrun run --profile` and `--trace` on a small real model.
@Suite struct ProfileToolTests {
    @Test func tableAndTraceHaveEveryNodeOfTheRun() throws {
        try Fixtures.withTemporaryFolder { folder in
            let graph = folder.appendingPathComponent("topics.graph").path
            let converted = try ToolRunner("mlconv").run(Fixtures.folder.appendingPathComponent("categorium-topics").path, "-o", graph, "--quiet")
            #expect(converted.status == 0, "\(converted.errorOutput)")
            let inputs = folder.appendingPathComponent("in.safetensors")
            try SafetensorsWriter.write([(name: "input_ids", tensor: try Tensor(integers: [2, 5, 6, 3], shape: [1, 4]))], to: inputs)
            let trace = folder.appendingPathComponent("trace.json")
            let mlrun = try ToolRunner("mlrun")
            let result = try mlrun.run("run", graph, "--inputs", inputs.path, "--profile", "--trace", trace.path, "--repeat", "3")
            #expect(result.status == 0, "\(result.errorOutput)")

            let rows = result.lines.map { $0.split(separator: "\t", omittingEmptySubsequences: false).map(String.init) }
            #expect(rows.first == ["milliseconds", "share", "nodes", "operator", "kernel"])
            #expect(rows.dropFirst().contains { $0[3] == "linear" })
            let total = try #require(rows.last)
            #expect(total[1] == "100.0 %" && total[3] == "all")
            let times = rows.dropFirst().dropLast().compactMap { Double($0[0]) }
            #expect(times == times.sorted(by: >))
            let nodes = try #require(Int(total[2]))

            let events = try #require(try JSONParser.parse(try Data(contentsOf: trace))["traceEvents"]?.arrayValue)
            #expect(events.count == 3 * nodes)
            #expect(events.allSatisfy { $0["ph"]?.stringValue == "X" && ($0["dur"]?.doubleValue ?? -1) >= 0 && ($0["ts"]?.doubleValue ?? -1) >= 0 })
            #expect(events.contains { $0["name"]?.stringValue == "linear" })
            #expect(try mlrun.run("run", graph, "--inputs", inputs.path, "--repeat", "3").status == 2)
        }
    }
}
