import Foundation
import GraphIR
import ONNXConverter
import Operators
import Optimizer
import Runtime
import SafetensorsConverter
import Tensors
import TestSupport
import Testing

/// The same fusions out of every exporter's spelling, and the same answers with and without them.
@Suite struct OptimizerCorpusTests {
    @Test(.needsFixture("corpus"), arguments: ONNXCorpusTests.variants) func fusesAndKeepsTheAnswers(_ variant: ONNXCorpusTests.Variant) throws {
        let plain = try ONNXImporter.convert(contentsOf: variant.url).graph
        var optimized = plain
        let report = try PassPipeline.default.run(&optimized)
        try optimized.verify()
        let expected = try EncoderFusions.of(variant.folder)
        if !variant.file.contains("int8") {
            expected.check(optimized, report)
        } else {
            // Quantised files have operators of their own between those that fusions join.
            let counts = report.fusionCounts
            #expect(counts.layerNorm == expected.layerNorm + expected.embedding, "\(report.nearMisses)")
            // All dense layers but the classifier, which onnxruntime's quantiser left alone, multiply integers.
            #expect(report.nodeCount(of: "quantized_linear") == 13 && counts.linear == 14, "\(report.nearMisses)")
            if variant.file.hasSuffix("int8-dynamic.onnx") {
                #expect(counts.attention == expected.attention && counts.gelu == expected.gelu, "\(report.nearMisses)")
            }
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

    /// Checkpoints come down to the same operators.
    @Test(.needsFixture("corpus"), arguments: CheckpointReferenceTests.corpus) func fusesCheckpoints(_ name: String) throws {
        let folder = Corpus.folder.appendingPathComponent(name)
        var graph = try CheckpointImporter.convert(folderOrFile: folder).graph
        let report = try PassPipeline.default.run(&graph)
        try EncoderFusions.of(String(name.split(separator: "/")[0])).check(graph, report)
        try compare(graph, folder)
    }

    /// All encoder architectures and heads: one embedding, the attentions of their layers, on real tokens alone.
    @Test(arguments: CheckpointReferenceTests.generated) func fusesGeneratedCheckpoints(_ name: String) throws {
        let folder = CheckpointReferenceTests.architectures.appendingPathComponent(name)
        var graph = try CheckpointImporter.convert(folderOrFile: folder).graph
        let attentions = FusionCounts(graph).attention
        let report = try PassPipeline.default.run(&graph)
        #expect(report.fusionCounts.embedding == 1 && report.fusionCounts.attention == attentions, "\(report.nearMisses)")
        #expect(report.count(of: "linear_packing") == 3 * attentions, "\(name)")
        #expect(report.count(of: "unpadded_batches") == 1, "\(report.nearMisses)")
        try compare(graph, folder)
    }

    private func compare(_ graph: Graph, _ folder: URL) throws {
        let own = folder.appendingPathComponent("cases.safetensors")
        let shared = folder.deletingLastPathComponent().appendingPathComponent("cases.safetensors")
        let cases = CheckpointCases(file: try SafetensorsFile(contentsOf: FileManager.default.fileExists(atPath: own.path) ? own : shared))
        let executor = try Executor(graph: graph)
        for number in 0..<cases.count {
            let inputs = try cases.inputs(number, of: graph)
            let results = try executor.run(inputs)
            for (output, tensor) in try cases.outputs(number) {
                let difference = checkpointDifference(try #require(results[output]), tensor, mask: inputs["attention_mask"])
                #expect(difference <= 1e-5, "case \(number), \(output) differs by \(difference)")
            }
        }
    }
}
