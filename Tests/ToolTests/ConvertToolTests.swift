import Foundation
import JSON
import TestSupport
import Testing

/// `mlconv` and what `mlrun` does with its files, on a small real model.
@Suite struct ConvertToolTests {
    let mlconv: ToolRunner
    let mlrun: ToolRunner
    private let topics = Fixtures.folder.appendingPathComponent("categorium-topics")

    init() throws {
        mlconv = try ToolRunner("mlconv")
        mlrun = try ToolRunner("mlrun")
    }

    @Test func convertsAFolderAndClassifiesAsTheOriginal() throws {
        try Fixtures.withTemporaryFolder { folder in
            let graph = folder.appendingPathComponent("topics.graph").path
            let converted = try mlconv.run("\(topics.path)", "-o", graph)
            #expect(converted.status == 0, "\(converted.errorOutput)")
            #expect(converted.output.isEmpty)
            #expect(try FileManager.default.contentsOfDirectory(atPath: folder.path) == ["topics.graph"])

            let reference = try JSONParser.parse(try Data(contentsOf: topics.appendingPathComponent("reference.json")))
            let cases = try #require(reference.arrayValue ?? reference["cases"]?.arrayValue)
            #expect(cases.count > 3)
            for item in cases {
                let text = try #require(item["text"]?.stringValue)
                let logits = try #require(item["logits"]?.arrayValue).compactMap(\.doubleValue)
                let answer = try JSONParser.parse(try #require(try mlrun.run("classify", "-m", graph, "--json", "--", text).lines.first))
                let largest = try #require(logits.indices.max { logits[$0] < logits[$1] })
                let total = logits.map { exp($0 - logits[largest]) }.reduce(0, +)
                #expect(abs((answer["confidence"]?.doubleValue ?? 0) - 1 / total) < 1e-4, "\(text)")
            }
        }
    }

    /// Half precision rounds after every operator, blocks round activations to 16 bits: neither is a fault of the optimizer.
    @Test(.needsFixture("corpus")) func checkKnowsTheRoundingsOfTypes() throws {
        let half = Fixtures.unpacked("corpus").appendingPathComponent("bert-sequence-classification/onnx/fp16.onnx").path
        let blocks = Fixtures.folder.appendingPathComponent("contrib-quantized/weights-int8-f32-scales.onnx").path
        for model in [half, blocks] {
            let result = try mlconv.run(model, "--task", "none", "--check", "-q")
            #expect(result.status == 0 && result.output.contains("largest difference"), "\(result.errorOutput)")
        }
    }

    @Test func convertingTwiceGivesTheSameBytes() throws {
        try Fixtures.withTemporaryFolder { folder in
            let files = ["a.graph", "b.graph"].map { folder.appendingPathComponent($0) }
            for file in files { #expect(try mlconv.run("\(topics.path)", "-o", file.path).status == 0) }
            #expect(try Data(contentsOf: files[0]) == Data(contentsOf: files[1]))
            let diff = try mlconv.run("diff", files[0].path, files[1].path)
            #expect(diff.status == 0)
            #expect(diff.output.isEmpty)
        }
    }

    /// A file of ours is a source too: nothing is left to fuse, and the weights come out of their panels and go into them again.
    @Test func convertingAGraphAgainChangesNothing() throws {
        try Fixtures.withTemporaryFolder { folder in
            let (first, second) = (folder.appendingPathComponent("a.graph").path, folder.appendingPathComponent("b.graph").path)
            let text = "The bank raised its rates."
            func answer(_ graph: String) throws -> String { try mlrun.run("classify", "-m", graph, "--json", text).output }
            try #require(try mlconv.run(topics.path, "-o", first, "-q").status == 0)
            let again = try mlconv.run(first, "-o", second, "--check", "-q")
            #expect(again.status == 0, "\(again.errorOutput)")
            let diff = try mlconv.run("diff", first, second)
            #expect(diff.status == 0 && diff.output.isEmpty, "\(diff.output)")
            #expect(try answer(first).contains("label") && answer(first) == answer(second))
            // Integer layers come out of their panels as well.
            try #require(try mlconv.run(first, "-o", second, "-q", "--quantize", "int8").status == 0)
            #expect(try mlconv.run(second, "--check", "-q").status == 0)
            #expect(try mlconv.run(first, "-o", first).status == 2)
        }
    }

    @Test func optimisedAndUnoptimisedAgree() throws {
        let result = try mlconv.run("\(topics.path)", "--check")
        #expect(result.status == 0, "\(result.errorOutput)")
        #expect(result.output.contains("logits"))
    }

    @Test func inspectTellsWhatItIs() throws {
        try Fixtures.withTemporaryFolder { folder in
            let graph = folder.appendingPathComponent("topics.graph").path
            try #require(try mlconv.run("\(topics.path)", "-o", graph).status == 0)
            let overview = try mlrun.run("inspect", graph)
            #expect(overview.status == 0)
            for word in ["classification", "bert", "input_ids: i64[batch, sequence]", "logits: f32[batch, 27]", "safetensors", "xxh128"] {
                #expect(overview.output.contains(word), "\(word) in \(overview.output)")
            }
            #expect(try mlrun.run("inspect", graph, "--text").output.contains("output \"logits\""))
            #expect(try mlrun.run("inspect", graph, "--dot").output.hasPrefix("digraph"))
            let svg = try mlrun.run("inspect", graph, "--svg").output
            #expect(svg.hasPrefix("<svg") && svg.hasSuffix("</svg>\n"))
            #expect(try JSONParser.parse(mlrun.run("inspect", graph, "--json").output)["task"]?.stringValue == "classification")
        }
    }

    @Test func badModelsGetOneLineAndLeaveNothing() throws {
        try Fixtures.withTemporaryFolder { folder in
            let empty = folder.appendingPathComponent("empty")
            try FileManager.default.createDirectory(at: empty, withIntermediateDirectories: true)
            let noConfig = folder.appendingPathComponent("no-config")
            try FileManager.default.createDirectory(at: noConfig, withIntermediateDirectories: true)
            try FileManager.default.copyItem(at: topics.appendingPathComponent("model.safetensors"), to: noConfig.appendingPathComponent("model.safetensors"))
            let text = folder.appendingPathComponent("notes.txt")
            try Data("just some words".utf8).write(to: text)
            let out = folder.appendingPathComponent("out.graph")
            let cases: [(URL, [String], String)] = [
                (folder.appendingPathComponent("missing.onnx"), [], "no such file or folder"),
                (empty, [], "holds no model.safetensors, model.safetensors.index.json or model.onnx"),
                (noConfig, [], "config.json"),
                (text, [], "is neither ONNX nor safetensors"),
                (topics, ["--labels", "yes,no"], "2 labels do not fit the 27 outputs"),
                (topics, ["--labels", folder.appendingPathComponent("labels.txt").path], "no such file"),
                (topics, ["--tokenizer", folder.appendingPathComponent("tokenizer.json").path], "tokenizer.json"),
                (topics, ["--pooling", "mean"], "--pooling is for embedding models"),
                (topics, ["--max-length", "100000"], "is more than the"),
                (topics, ["--output", "nothing"], "there is no output 'nothing'"),
            ]
            for (input, options, message) in cases {
                let result = try mlconv.run([input.path, "-o", out.path] + options)
                #expect(result.status == 1, "\(input.lastPathComponent) \(options)")
                #expect(result.errorOutput.contains(message), "\(options): \(result.errorOutput)")
                let errors = result.errorOutput.split(separator: "\n").filter { !$0.contains("warning") }
                #expect(errors.count == 1, "\(result.errorOutput)")
                #expect(!FileManager.default.fileExists(atPath: out.path))
            }
            #expect(try FileManager.default.contentsOfDirectory(atPath: folder.path).sorted() == ["empty", "no-config", "notes.txt"])
        }
    }

    @Test func damagedGraphsAreRefused() throws {
        try Fixtures.withTemporaryFolder { folder in
            let url = folder.appendingPathComponent("topics.graph")
            try #require(try mlconv.run("\(topics.path)", "-o", url.path).status == 0)
            let good = try Data(contentsOf: url)
            func answer(_ bytes: Data) throws -> ToolRunner.Result {
                let damaged = folder.appendingPathComponent("damaged.graph")
                try bytes.write(to: damaged)
                return try mlrun.run("classify", "-m", damaged.path, "x")
            }
            for position in [9, good.count / 3, good.count / 2, good.count - 5] {
                var bytes = good
                bytes[position] ^= 0x10
                let result = try answer(bytes)
                #expect(result.status == 1, "byte \(position)")
                #expect(result.output.isEmpty)
                #expect(result.errorOutput.split(separator: "\n").count == 1)
            }
            for length in [0, 5, 100, good.count / 2, good.count - 1] {
                #expect(try answer(good.prefix(length)).status == 1, "cut to \(length) bytes")
            }
        }
    }

    @Test func checkListsEverythingInTheWay() throws {
        let good = try mlconv.run("check", topics.path)
        #expect(good.status == 0, "\(good.errorOutput)")
        #expect(good.output.contains("nothing stands in the way"))
    }

    @Test(.needsFixture("corpus")) func checkNamesEveryUnsupportedOperator() throws {
        let model = Fixtures.unpacked("corpus").appendingPathComponent("handmade/unknown-ops/model.onnx")
        let result = try mlconv.run("check", model.path, "--json")
        #expect(result.status == 1)
        let answer = try JSONParser.parse(result.output)
        #expect(answer["convertible"]?.boolValue == false)
        #expect((answer["issues"]?.arrayValue?.count ?? 0) >= 4)
    }
}
