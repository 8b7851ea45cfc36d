import Foundation
import JSON
import TestSupport
import Testing

/// `mlconv` on GGUF files, and `--quantize`.
@Suite struct ConvertGGUFToolTests {
    let mlconv: ToolRunner
    private let models = Fixtures.folder.appendingPathComponent("gguf")
    private let topics = Fixtures.folder.appendingPathComponent("categorium-topics")

    init() throws { mlconv = try ToolRunner("mlconv") }

    @Test func convertsAGGUFFile() throws {
        try Fixtures.withTemporaryFolder { folder in
            // Known by its first bytes where its name does not tell.
            let copy = folder.appendingPathComponent("model")
            try FileManager.default.copyItem(at: models.appendingPathComponent("llama.gguf"), to: copy)
            let graph = folder.appendingPathComponent("llama.graph").path
            let result = try mlconv.run(copy.path, "-o", graph, "--json")
            try #require(result.status == 0, "\(result.errorOutput)")
            let report = try JSONParser.parse(try #require(result.lines.first))
            #expect(report["description"]?["task"]?.stringValue == "text-generation")
            #expect(report["description"]?["architecture"]?.stringValue == "llama")
            let generation = try #require(report["description"]?["generation"])
            #expect(generation["end_tokens"]?.arrayValue?.compactMap(\.intValue) == [2, 0])
            #expect(generation["begin_token"]?.intValue == 1 && generation["context_length"]?.intValue == 128)
            #expect(generation["sampled"]?.boolValue == true && generation["top_k"]?.intValue == 40)
            #expect(report["description"]?["chat_template"]?.stringValue?.hasPrefix("{% for m in messages %}") == true)
            let weights = try #require(report["weights"]?.arrayValue)
            #expect(weights.compactMap { $0["dtype"]?.stringValue }.filter { $0.hasPrefix("q") } == ["q8_0", "q4_1"])
            // The file's weights and no more.
            let size = try #require(report["bytes"]?.intValue)
            #expect(size < 130_000)
        }
    }

    @Test func checkListsEverything() throws {
        let fine = try mlconv.run("check", models.appendingPathComponent("gpt2.gguf").path, "--tokenizer", topics.path)
        #expect(fine.status == 0, "\(fine.output)")
        try Fixtures.withTemporaryFolder { folder in
            var bytes = Array(try Data(contentsOf: models.appendingPathComponent("llama.gguf")))
            // Another architecture: nothing of its metadata or tensors is known.
            let place = try #require(bytes.indices.first { bytes[$0...].starts(with: "llama".utf8) })
            bytes.replaceSubrange(place..<place + 5, with: "mamba".utf8)
            let url = folder.appendingPathComponent("model.gguf")
            try Data(bytes).write(to: url)
            let result = try mlconv.run("check", url.path)
            #expect(result.status == 1)
            #expect(result.output.contains("general.architecture is \"mamba\", known are llama, gpt2"))
            try Data(bytes.prefix(3000)).write(to: url)
            let cut = try mlconv.run(url.path, "-o", folder.appendingPathComponent("m.graph").path)
            #expect(cut.status == 1 && cut.output.isEmpty)
            #expect(cut.errorOutput.split(separator: "\n").count == 1 && cut.errorOutput.contains("cut off or damaged"), "\(cut.errorOutput)")
            #expect(try FileManager.default.contentsOfDirectory(atPath: folder.path) == ["model.gguf"])
        }
    }

    @Test(arguments: [("q8_0", "q8_0"), ("q4_k", "q4_k"), ("bf16", "bf16"), ("int8", "i8")])
    func quantizes(_ type: String, dtype: String) throws {
        try Fixtures.withTemporaryFolder { folder in
            let graph = folder.appendingPathComponent("topics.graph").path
            let result = try mlconv.run(topics.path, "-o", graph, "--quantize", type, "--report", "--check")
            #expect(result.status == 0, "\(result.errorOutput)")
            #expect(result.output.contains("quantised     \(dtype): ") || (type == "q4_k" && result.output.contains("quantised     q4_1: ")))
            #expect(result.output.contains("relative error") && result.output.contains("check         logits: largest difference"))
        }
    }

    /// A language model is measured on a text before and after.
    @Test(.needsFixture("corpus")) func quantizeReportsTheChangeOfPerplexity() throws {
        try Fixtures.withTemporaryFolder { folder in
            let tokenizer = folder.appendingPathComponent("tokenizer.json")
            try Data(
                """
                {"version":"1.0","truncation":null,"padding":null,"added_tokens":[],"normalizer":null,"pre_tokenizer":{"type":"Whitespace"},
                "post_processor":null,"decoder":null,"model":{"type":"WordLevel","vocab":{"<unk>":0,"the":1,"of":2,"and":3,"had":4},"unk_token":"<unk>"}}
                """.utf8
            ).write(to: tokenizer)
            let model = Fixtures.unpacked("corpus").appendingPathComponent("gpt2-causal-lm").path
            func perplexity(_ type: String, _ options: String...) throws -> (before: Double, after: Double, tokens: Int) {
                let result = try mlconv.run([model, "--tokenizer", tokenizer.path, "--quantize", type, "--report", "--json"] + options)
                try #require(result.status == 0, "\(result.errorOutput)")
                let line = try #require(result.lines.first)
                let found = try JSONParser.parse(line)["perplexity"]
                let (before, after) = (try #require(found?["before"]?.doubleValue), try #require(found?["after"]?.doubleValue))
                return (before, after, try #require(found?["tokens"]?.intValue))
            }
            let (half, blocks) = (try perplexity("bf16"), try perplexity("q4_0"))
            // The text is the same, and so is the model before.
            #expect(half.before == blocks.before && half.tokens == blocks.tokens && half.tokens > 200)
            #expect(half.after != half.before && abs(half.after / half.before - 1) < 0.01)
            #expect(blocks.after != blocks.before && abs(blocks.after / blocks.before - 1) < 0.2)

            let text = folder.appendingPathComponent("text.txt")
            try Data("the end of the day and the night".utf8).write(to: text)
            #expect(try perplexity("q8_0", "--perplexity", text.path).tokens == 7)
            let report = try mlconv.run(model, "--tokenizer", tokenizer.path, "--quantize", "q8_0", "--report")
            #expect(report.output.contains("perplexity    ") && report.output.contains(" before, "), "\(report.output)")
            #expect(try mlconv.run(model, "--report", "--perplexity", text.path).status == 2)
        }
    }

    /// Each layer is measured on texts, and the graph can be quantised again from the file.
    @Test func calibratesInt8() throws {
        try Fixtures.withTemporaryFolder { folder in
            let texts = folder.appendingPathComponent("texts.txt")
            try Data("The bank raised its rates.\r\n\n¿Dónde está la biblioteca?\n".utf8).write(to: texts)
            let plain = folder.appendingPathComponent("topics.graph").path
            try #require(try mlconv.run(topics.path, "-o", plain).status == 0)
            for source in [topics.path, plain] {
                let graph = folder.appendingPathComponent("int8.graph").path
                let result = try mlconv.run(source, "-o", graph, "--quantize", "int8", "--calibrate", texts.path, "--report")
                try #require(result.status == 0, "\(result.errorOutput)")
                #expect(result.lines.contains { $0.hasPrefix("size          ") && $0.contains(" bytes of weights before, ") })
                let layers = result.lines.filter { $0.hasPrefix("layer         ") }
                #expect(layers.count == 11 && layers.filter { $0.contains(", products ") }.count == 9, "\(layers)")
                let json = try JSONParser.parse(
                    try #require(mlconv.run(source, "--quantize", "int8", "--calibrate", texts.path, "--report", "--json").lines.first))
                let errors = (json["quantized"]?.arrayValue ?? []).compactMap { $0["product_error"]?.doubleValue }
                #expect(errors.count == 9 && errors.allSatisfy { $0 > 0 && $0 < 0.05 } && json["not_quantized"]?.arrayValue?.isEmpty == true)
                let (before, after) = (json["weight_bytes"]?["before"]?.intValue ?? 0, json["weight_bytes"]?["after"]?.intValue ?? 0)
                #expect(after > 0 && after * 10 < before * 6)
                // Stored so already: nothing is left to quantise.
                let again = try mlconv.run(graph, "--report", "--quantize", "int8")
                #expect(again.status == 0 && again.errorOutput.contains("--quantize changes nothing"), "\(again.errorOutput)")
            }
            let alone = try mlconv.run(topics.path, "--report", "--calibrate", texts.path)
            #expect(alone.status == 2 && alone.errorOutput.contains("--calibrate goes with --quantize int8"))
            try Data("\n".utf8).write(to: texts)
            let empty = try mlconv.run(topics.path, "--report", "--quantize", "int8", "--calibrate", texts.path)
            #expect(empty.status == 1 && empty.errorOutput.contains("has no lines of text"))
        }
    }

    @Test func quantizeSaysWhatItDoesNotDo() throws {
        let unknown = try mlconv.run(topics.path, "--report", "--quantize", "q3_k")
        #expect(unknown.status != 0 && unknown.errorOutput.contains("--quantize takes one of f16, bf16, int8, q8_0, q4_0, q4_1, q4_k"))
        let twice = try mlconv.run(models.appendingPathComponent("llama.gguf").path, "--report", "--quantize", "q8_0")
        #expect(twice.status == 0 && twice.errorOutput.contains("--quantize changes nothing"), "\(twice.errorOutput)")
    }
}
