import Foundation
import JSON
import Tensors
import TestSupport
import Testing

/// `mlrun generate`, `score`, `perplexity` and `chat` on small models of random weights, converted by `mlconv`.
@Suite(.needsFixture("corpus")) struct GenerateToolTests {
    let mlrun: ToolRunner
    let mlconv: ToolRunner
    private static let corpus = Fixtures.unpacked("corpus")

    init() throws {
        mlrun = try ToolRunner("mlrun")
        mlconv = try ToolRunner("mlconv")
    }

    private func withModel(_ name: String, _ body: (String) throws -> Void) throws {
        try Fixtures.withTemporaryFolder { folder in
            let graph = folder.appendingPathComponent("model.graph").path
            let result = try mlconv.run(Self.corpus.appendingPathComponent(name).path, "-o", graph, "--quiet")
            try #require(result.status == 0, "\(result.errorOutput)")
            try body(graph)
        }
    }

    /// The greedy continuations that transformers gives.
    @Test(arguments: ["gpt2-causal-lm", "llama-causal-lm", "qwen2-causal-lm"])
    func greedyIdsEqualTransformers(name: String) throws {
        let cases = try SafetensorsFile(contentsOf: Self.corpus.appendingPathComponent("\(name)/cases.safetensors"))
        try withModel(name) { graph in
            var count = 0
            for number in 0..<100 {
                guard cases.entry(named: "greedy\(number).input_ids") != nil else { break }
                let ids = try cases.tensor(named: "greedy\(number).input_ids")
                let mask = try cases.tensor(named: "greedy\(number).attention_mask").integers()
                let expected = try cases.tensor(named: "greedy\(number).out.new_ids")
                let (length, new) = (ids.shape[1], expected.shape[1])
                for row in 0..<ids.shape[0] {
                    let real = (row * length..<(row + 1) * length).filter { mask[$0] != 0 }.map { String(ids.integers()[$0]) }
                    let result = try mlrun.run(
                        "generate", "-m", graph, "--ids", real.joined(separator: ","), "--max-tokens", String(new), "--greedy", "--ignore-end", "--json")
                    try #require(result.status == 0, "\(result.errorOutput)")
                    let json = try JSONParser.parse(try #require(result.lines.first))
                    #expect(json["ids"]?.arrayValue?.compactMap(\.intValue) == expected.integers()[row * new..<(row + 1) * new].map { Int($0) }, "case \(number), row \(row)")
                    #expect(json["finish_reason"]?.stringValue == "length")
                    count += 1
                }
            }
            #expect(count > 0)
        }
    }

    @Test func scoreHasThePromisedKeys() throws {
        try withModel("gpt2-causal-lm") { graph in
            let result = try mlrun.run("score", "-m", graph, "--ids", "5,17,9", "--top", "2", "--json")
            #expect(result.status == 0, "\(result.errorOutput)")
            let line = try #require(result.lines.first)
            let tokens = try #require(JSONParser.parse(line)["tokens"]?.arrayValue)
            #expect(tokens.map { $0["id"]?.intValue } == [5, 17, 9])
            #expect(tokens[0]["logprob"] == nil && tokens[0]["top"] == nil)
            for token in tokens.dropFirst() {
                let logprob = try #require(token["logprob"]?.doubleValue)
                let top = try #require(token["top"]?.arrayValue)
                #expect(top.count == 2 && logprob <= (top[0]["logprob"]?.doubleValue ?? -1) && top.allSatisfy { $0["id"]?.intValue != nil })
            }
        }
    }

    @Test func samplingWithOneSeedGivesOneText() throws {
        try withModel("llama-causal-lm") { graph in
            func ids(_ more: String...) throws -> JSONValue? {
                let result = try mlrun.run(["generate", "-m", graph, "--ids", "3,4", "--max-tokens", "20", "--ignore-end", "--json"] + more)
                #expect(result.status == 0, "\(result.errorOutput)")
                return try JSONParser.parse(try #require(result.lines.first))["ids"]
            }
            let one = try ids("--temperature", "1.5", "--seed", "1", "--threads", "1")
            #expect(try ids("--temperature", "1.5", "--seed", "1", "--threads", "2") == one)
            #expect(try ids("--temperature", "1.5", "--seed", "2") != one)
        }
    }

    @Test func failuresSayWhatToDo() throws {
        try withModel("gpt2-causal-lm") { graph in
            for (arguments, message) in [
                (["generate", "-m", graph, "text"], "holds no tokenizer"), (["generate", "-m", graph, "--ids", "1"], "add --json"),
                (["generate", "-m", graph, "--ids", "9999", "--json"], "outside the model's vocabulary"), (["chat", "-m", graph, "hello"], "holds no tokenizer"),
                (["perplexity", "-m", graph, "/no/such/file"], "no such file"), (["generate", "-m", graph, "--context", "100000", "--ids", "1", "--json"], "positions that"),
                (["generate", "-m", "sentiment", "x"], "is made for classification, not generation"),
            ] {
                let result = try mlrun.run(arguments)
                #expect(result.status == 1 && result.errorOutput.contains(message), "\(arguments): \(result.errorOutput)")
                #expect(result.errorOutput.split(separator: "\n").count == 1 && result.output.isEmpty)
            }
        }
    }

    @Test(arguments: [
        (["generate", "--ids", "1,x"], "--ids takes whole numbers"), (["generate", "--ids", "1", "text"], "give a prompt or --ids, not both"),
        (["generate", "--temperature", "warm", "x"], "--temperature takes a number"), (["generate", "--top-p", "0", "x"], "--top-p takes a number"),
        (["generate", "--logprobs", "2", "x"], "--logprobs goes with --json"), (["generate", "--greedy", "--top-k", "3", "x"], "--greedy takes the likeliest"),
        (["perplexity"], "name one text file"), (["score", "--ids", "1", "x"], "give a text or --ids"),
    ])
    func wrongUsage(arguments: [String], message: String) throws {
        let result = try mlrun.run(arguments)
        #expect(result.status == 2 && result.errorOutput.contains(message), "\(result.errorOutput)")
    }
}
