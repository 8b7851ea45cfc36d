import Foundation
import GraphIR
import ONNXConverter
import Runtime
import SafetensorsConverter
import Tensors
import TestSupport
import Testing

/// Every encoder of the corpus as the executor runs it: exports and checkpoints, all cases.
@Suite struct ExecutorCorpusTests {
    @Test(.needsFixture("corpus"), arguments: ONNXCorpusTests.variants)
    func exports(_ variant: ONNXCorpusTests.Variant) throws {
        let graph = try ONNXImporter.convert(contentsOf: variant.url).graph
        let executor = try Executor(graph: graph)
        let cases = try CaseFile(Corpus.folder.appendingPathComponent(variant.folder).appendingPathComponent("cases.safetensors"))
        let own = variant.entry["ort_outputs"]?.stringValue
        let expected = try own.map { try CaseFile(variant.url.deletingLastPathComponent().appendingPathComponent($0)) } ?? cases
        let tolerance = variant.file.contains("int8") ? 0.1 : variant.file.contains("fp16") ? 1e-2 : 1e-4
        var compared = 0
        for number in 0..<8 {
            let inputs = try cases.tensors("case\(number).").filter { entry in executor.inputs.contains { $0.name == entry.key } }
            guard inputs.count == executor.inputs.count else { continue }
            let outputs = try executor.run(inputs)
            let rows = inputs["attention_mask"]?.integers().map { $0 == 1 }
            let shape = inputs["attention_mask"]?.shape ?? []
            for (name, tensor) in try expected.tensors("case\(number).out.") {
                let output = try #require(outputs[name], "no output \(name)")
                let isPerToken = output.rank >= 3 && Array(output.shape.prefix(2)) == shape
                let difference = ONNXReference.difference(output, tensor, rows: isPerToken ? rows : nil)
                #expect(difference <= tolerance, "case\(number) \(name) differs by \(difference)")
                compared += 1
            }
        }
        #expect(compared >= 4)
    }

    @Test(.needsFixture("corpus"), arguments: CheckpointReferenceTests.corpus)
    func checkpoints(_ name: String) throws {
        try compare(Fixtures.unpacked("corpus").appendingPathComponent(name))
    }

    @Test(arguments: CheckpointReferenceTests.generated)
    func generatedCheckpoints(_ name: String) throws {
        try compare(CheckpointReferenceTests.architectures.appendingPathComponent(name))
    }

    private func compare(_ folder: URL) throws {
        let own = folder.appendingPathComponent("cases.safetensors")
        let shared = folder.deletingLastPathComponent().appendingPathComponent("cases.safetensors")
        let cases = CheckpointCases(
            file: try SafetensorsFile(contentsOf: FileManager.default.fileExists(atPath: own.path) ? own : shared))
        let graph = try CheckpointImporter.convert(folderOrFile: folder).graph
        let executor = try Executor(graph: graph)
        #expect(cases.count >= 2)
        for number in 0..<cases.count {
            let inputs = try cases.inputs(number, of: graph)
            let results = try executor.run(inputs)
            let expected = try cases.outputs(number)
            #expect(Set(results.keys) == Set(expected.map(\.name)))
            for (output, tensor) in expected {
                let difference = checkpointDifference(try #require(results[output]), tensor, mask: inputs["attention_mask"])
                #expect(difference <= 1e-5, "case \(number), \(output) differs by \(difference)")
            }
        }
    }
}
