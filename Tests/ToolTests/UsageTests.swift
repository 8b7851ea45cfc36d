import Foundation
import TestSupport
import Testing

/// Wrong command lines: exit status 2, one line that says what is wrong, nothing on standard output.
@Suite struct UsageTests {
    @Test(arguments: [
        ("mlrun", [], "no command given"),
        ("mlrun", ["clasify"], "unknown command 'clasify'"),
        ("mlrun", ["classify", "--tpo", "3", "x"], "unknown option --tpo"),
        ("mlrun", ["classify", "--top"], "--top needs an argument"),
        ("mlrun", ["classify", "--top", "many", "x"], "--top takes a whole number"),
        ("mlrun", ["classify", "--top", "0", "x"], "--top takes a whole number"),
        ("mlrun", ["classify", "--all=yes", "x"], "--all takes no argument"),
        ("mlrun", ["embed", "--format", "csv", "x"], "--format takes one of json, npy, text, not 'csv'"),
        ("mlrun", ["embed", "--format", "npy", "--raw-tokens", "x"], "--raw-tokens goes with text or json"),
        ("mlrun", ["similarity", "one"], "similarity takes two texts, not 1"),
        ("mlrun", ["search", "query"], "search needs --in FILE"),
        ("mlrun", ["run"], "run needs --inputs FILE"),
        ("mlrun", ["inspect"], "inspect takes one model"),
        ("mlconv", ["model.onnx"], "name the file to write with -o OUT.graph"),
        ("mlconv", ["a.onnx", "b.onnx", "-o", "c.graph"], "one model at a time"),
        ("mlconv", ["a.onnx", "-o", "a.onnx"], "the output would replace the input"),
        ("mlconv", ["a.onnx", "-o", "b.graph", "--task", "dancing"], "--task takes one of"),
        ("mlconv", ["check"], "check takes one model"),
    ] as [(String, [String], String)])
    func wrongUsage(tool: String, arguments: [String], message: String) throws {
        let result = try ToolRunner(tool).run(arguments)
        #expect(result.status == 2)
        #expect(result.errorOutput.contains(message), "got: \(result.errorOutput)")
        #expect(result.errorOutput.hasPrefix("\(tool): "))
        #expect(result.output.isEmpty)
    }

    @Test(arguments: ["mlrun", "mlconv"])
    func helpTeaches(tool: String) throws {
        let runner = try ToolRunner(tool)
        let overview = try runner.run("--help")
        #expect(overview.status == 0)
        #expect(overview.output.contains("Exit status: 0 success, 1 failure, 2 wrong usage"))
        let commands = overview.lines.drop { $0 != "Commands:" }.dropFirst().prefix { $0.hasPrefix("  ") }
            .compactMap { $0.split(separator: " ").first.map(String.init) }
        #expect(commands.count >= 3)
        for command in commands {
            let help = try runner.run(command, "--help")
            #expect(help.status == 0)
            #expect(help.output.contains("Usage: \(tool)"))
            #expect(help.output.contains("Options:"))
            #expect(help.errorOutput.isEmpty)
        }
    }

    @Test func optionsMayFollowOperandsAndBeAbbreviated() throws {
        let result = try ToolRunner("mlrun").run("similarity", "one", "--js")
        // Only the count of texts is at fault: the abbreviated option was understood.
        #expect(result.status == 2)
        #expect(result.errorOutput.contains("similarity takes two texts"))
    }
}
