import Foundation
import GraphIR
import ONNXConverter
import Operators
import Optimizer
import Runtime
import Tensors
import TestSupport
import Testing

/// The same fusions out of every exporter's spelling, and the same answers with and without them.
@Suite struct OptimizerCorpusTests {
    /// What a model of two layers comes down to.
    private struct Expected {
        /// Embeddings and two per layer.
        var layerNorm = 5
        var gelu = 2
        var linear: Int
    }

    private static func expected(_ folder: String) throws -> Expected {
        switch folder {
        case "bert-encoder", "mpnet-encoder", "xlm-roberta-encoder": return Expected(linear: 13)
        // The prediction head has a linear, a gelu and a norm of its own.
        case "bert-masked-lm": return Expected(layerNorm: 6, gelu: 3, linear: 14)
        case "bert-token-classification": return Expected(linear: 13)
        case "bert-sequence-classification", "distilbert-sequence-classification", "roberta-sequence-classification": return Expected(linear: 14)
        default: throw ONNXReference.Failure(description: "nothing is expected of \(folder)")
        }
    }

    @Test(.needsFixture("corpus"), arguments: ONNXCorpusTests.variants) func fusesAndKeepsTheAnswers(_ variant: ONNXCorpusTests.Variant) throws {
        let plain = try ONNXImporter.convert(contentsOf: variant.url).graph
        var optimized = plain
        let report = try PassPipeline.default.run(&optimized)
        try optimized.verify()
        let expected = try Self.expected(variant.folder)
        let counts = report.fusionCounts
        #expect(counts.layerNorm == expected.layerNorm, "\(report.nearMisses)")
        // Full quantisation puts its operators between those that the other fusions join.
        let isQuantized = variant.file.contains("int8") && variant.file != "onnx/int8-dynamic.onnx" && variant.file != "onnx/uint8-dynamic.onnx"
        if !isQuantized {
            #expect(counts.attention == 2, "\(report.nearMisses)")
            #expect(counts.gelu == expected.gelu, "\(report.nearMisses)")
        }
        if !variant.file.contains("int8") {
            // onnxruntime's fused attention has one product for q, k and v of a layer.
            let packed = variant.file.contains("ort-fused") && !variant.file.contains("dynamo") ? 4 : 0
            #expect(counts.linear == expected.linear - packed, "\(report.nearMisses)")
            // No arithmetic on shapes is left, and of the mask's making only its few steps.
            #expect(report.nodeCount(of: "shape") == 0)
            // Padding masks have one row for all queries, however the exporter spreads them out; only a position bias has more.
            for node in optimized.nodes where node.op is ScaledDotProductAttention && variant.folder != "mpnet-encoder" {
                let mask = try #require(node.inputs.count > 3 ? node.inputs[3] : nil)
                #expect(optimized.type(mask).dims.dropLast().last == 1, "\(optimized.type(mask))")
            }
            #expect(optimized.nodes.count < 110, "\(report.operatorsAfter)")
            // A position bias has a row for each query.
            #expect(report.count(of: "unpadded_batches") == (variant.folder == "mpnet-encoder" ? 0 : 1), "\(report.nearMisses)")
        }

        let cases = try CaseFile(Corpus.folder.appendingPathComponent(variant.folder).appendingPathComponent("cases.safetensors"))
        let tolerance = variant.file.contains("int8") ? 0.1 : variant.file.contains("fp16") ? 1e-2 : 1e-5
        let names = plain.inputs.map { plain[$0].name }
        let executor = try Executor(graph: optimized, options: ExecutorOptions(threads: 1))
        var compared = 0
        // Rows padded on the right, and on the left.
        for number in [1, 7] {
            let inputs = try cases.tensors("case\(number).").filter { names.contains($0.key) }
            guard inputs.count == names.count else { continue }
            let before = try ReferenceInterpreter.run(plain, inputs)
            let mask = inputs["attention_mask"]
            // The reference evaluation, which checks inference too, is slow.
            for after in try (number == 1 ? [ReferenceInterpreter.run(optimized, inputs)] : []) + [executor.run(inputs)] {
                for (name, tensor) in before {
                    let output = try #require(after[name])
                    #expect(output.dtype == tensor.dtype)
                    // Padding is not computed.
                    let isPerToken = output.rank >= 3 && Array(output.shape.prefix(2)) == mask?.shape
                    let difference = ONNXReference.difference(output, tensor, rows: isPerToken ? mask?.integers().map { $0 == 1 } : nil)
                    #expect(difference <= tolerance * max(1, tensor.doubles().map(abs).max() ?? 0), "case\(number) \(name) differs by \(difference)")
                    compared += 1
                }
            }
        }
        #expect(compared >= 1)
    }
}
