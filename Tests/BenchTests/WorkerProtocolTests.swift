@testable import BenchmarkSuite
import Foundation
import TestSupport
import Testing

@Suite struct WorkerProtocolTests {
    @Test func requestsSurviveTheirLine() throws {
        let works: [BenchmarkTask.Work] = [.rows([[1, 2], [3]]), .prompt([4, 5], newTokens: 6), .lines(file: "a \"b\".txt", count: 7)]
        for (work, kind) in zip(works, [BenchmarkCase.Kind.encode, .decode, .tokenize]) {
            let request = WorkerRequest.load(
                BenchmarkTask(kind: kind, precision: kind == .tokenize ? nil : .int8, threads: 2, folder: "models/x", work: work))
            #expect(try WorkerRequest(line: request.line) == request)
        }
        for request in [WorkerRequest.answer, .run(times: 3), .memory] { #expect(try WorkerRequest(line: request.line) == request) }
    }

    @Test func repliesSurviveTheirLine() throws {
        let replies: [WorkerReply] = [
            .loaded(.init(version: "1.2", uses: "Q8_0", weightBytes: 12)), .loaded(.init(version: "", uses: "")), .skipped("not installed"),
            .answer([[1, 2.5], []]), .seconds([0.25, 1e-7]), .peakBytes(1 << 40), .failed("no \"x\""),
        ]
        for reply in replies { #expect(try WorkerReply(line: reply.line) == reply) }
    }

    @Test(arguments: [
        "", "nonsense", "[]", "{}", "{\"run\":0}", "{\"run\":\"3\"}", "{\"run\":1e99}", "{\"load\":{}}",
        "{\"load\":{\"kind\":\"start\",\"threads\":1,\"folder\":\"x\",\"rows\":[]}}",
        "{\"load\":{\"kind\":\"encode\",\"threads\":0,\"folder\":\"x\",\"rows\":[]}}",
        "{\"load\":{\"kind\":\"encode\",\"threads\":1,\"folder\":\"x\"}}",
        "{\"load\":{\"kind\":\"encode\",\"threads\":1,\"folder\":\"x\",\"rows\":[[1.5]]}}",
        "{\"load\":{\"kind\":\"encode\",\"precision\":\"f8\",\"threads\":1,\"folder\":\"x\",\"rows\":[]}}",
        "{\"load\":{\"kind\":\"tokenize\",\"threads\":1,\"folder\":\"x\",\"text_file\":\"t\",\"lines\":-1}}",
    ])
    func requestsThatAreNoneAreErrors(line: String) {
        #expect(throws: ProtocolError.self) { try WorkerRequest(line: line) }
    }

    @Test(arguments: [
        "", "{", "{\"seconds\":[-1]}", "{\"seconds\":[\"1\"]}", "{\"seconds\":3}", "{\"answer\":[1]}", "{\"peak_bytes\":-1}", "{\"hello\":1}",
    ])
    func repliesThatAreNoneAreErrors(line: String) {
        #expect(throws: ProtocolError.self) { try WorkerReply(line: line) }
    }

    @Test func theWorkerAnswersEachRequestAndOutlivesBadOnes() throws {
        let result = try ToolRunner("mlbench").run(
            "worker", input: "nonsense\n{\"answer\":true}\n"
                + "{\"load\":{\"kind\":\"encode\",\"precision\":\"f32\",\"threads\":1,\"folder\":\"no/such\",\"rows\":[[1]]}}\n{\"memory\":true}\n")
        #expect(result.status == 0, "\(result.errorOutput)")
        let replies = try result.lines.map { try WorkerReply(line: $0) }
        #expect(replies.count == 4)
        guard case .failed = replies[0], case .failed("nothing is loaded") = replies[1], case .skipped(let reason) = replies[2],
            case .peakBytes(let bytes) = replies[3]
        else {
            Issue.record("\(replies)")
            return
        }
        #expect(reason.contains("no/such"))
        #expect(bytes > 1 << 20)
    }

    @Test func theWorkerTokenizesAsTheLibraryDoes() throws {
        try Fixtures.withTemporaryFolder { folder in
            // A tokenizer of three words.
            try Data(
                """
                {"version":"1.0","truncation":null,"padding":null,"added_tokens":[],"normalizer":null,"pre_tokenizer":{"type":"Whitespace"},\
                "post_processor":null,"decoder":null,"model":{"type":"WordLevel","vocab":{"a":0,"b":1,"?":2},"unk_token":"?"}}
                """.utf8
            ).write(to: folder.appendingPathComponent("tokenizer.json"))
            let text = folder.appendingPathComponent("text.txt")
            try Data("a b\n\nb b c\nnot read\n".utf8).write(to: text)
            let task = BenchmarkTask(kind: .tokenize, precision: nil, threads: 2, folder: folder.path, work: .lines(file: text.path, count: 2))
            let requests = [WorkerRequest.load(task), .answer, .run(times: 2)].map { $0.line + "\n" }.joined()
            let replies = try ToolRunner("mlbench").run("worker", input: requests).lines.map { try WorkerReply(line: $0) }
            #expect(replies.count == 3)
            #expect(replies.dropFirst().first == .answer([[8], [0, 1], [1, 1, 2]]))
            guard case .seconds(let seconds) = replies.last else {
                Issue.record("\(replies)")
                return
            }
            #expect(seconds.count == 2)
        }
    }

    @Test func aWorkerThatIsNoneIsAnErrorOfItsOwn() throws {
        let silent = try WorkerProcess(Contestant(name: "silent", command: ["true"]))
        defer { silent.stop() }
        let task = BenchmarkTask(kind: .encode, precision: .f32, threads: 1, folder: "x", work: .rows([[1]]))
        #expect(throws: (any Error).self) { try silent.load(task) }
        let noise = try WorkerProcess(Contestant(name: "noise", command: ["sh", "-c", "read line; echo noise; read line"]))
        defer { noise.stop() }
        #expect(throws: ProtocolError.self) { try noise.load(task) }
    }
}
