import Foundation
import GraphFile
import GraphIR
import ModelConversion
import Runtime
import TestSupport
import Tensors
import Testing

/// SmolLM2-135M-Instruct from its GGUF file, against transformers with the same weights in float32: Tests/Fixtures/references/make_smollm2.py.
@Suite struct SmolLM2Tests {
    private static let source = FetchedModels.url("smollm2").appendingPathComponent("SmolLM2-135M-Instruct.Q4_1.gguf")

    @Test(.needsModel("smollm2")) func logitsAreThoseOfTheReference() throws {
        let model = try ModelConverter(Self.source).convert()
        #expect(model.description.task == .generation && model.description.architecture == "llama")
        #expect(model.description.generation?.endTokens.first == 2 && model.description.generation?.contextLength == 8192)
        #expect(model.description.chatTemplate?.contains("<|im_start|>") == true)
        // Nothing is blown up: 210 matrices in q4_1, some of them packed together, and the table in q8_0.
        let summary = model.graph.summary
        #expect(summary.parameterCount == 134_515_008 || summary.parameterCount == 134_515_008 + 32)
        #expect(summary.byteCount < 97_000_000)
        #expect(Set(summary.constants.map(\.dtype)).isSubset(of: [.f32, .i64, .q8_0, .q4_1]))

        let references = try SafetensorsFile(contentsOf: Fixtures.folder.appendingPathComponent("references/smollm2.safetensors"))
        let executor = try Executor(graph: model.graph)
        for text in 0..<3 {
            let outputs = try executor.run(["input_ids": try references.tensor(named: "\(text).ids")])
            let logits = try #require(outputs["logits"])
            let expected = try references.tensor(named: "\(text).logits").floats()
            let best = try references.tensor(named: "\(text).best").integers()
            #expect(logits.shape == [1, best.count, 49_152])
            let values = logits.floats()
            var (noise, total) = (0.0, 0.0)
            for place in best.indices {
                let row = values[place * 49_152..<(place + 1) * 49_152]
                for index in 0..<1024 {
                    let reference = expected[place * 1024 + index]
                    noise += pow(Double(row[row.startIndex + index * 48] - reference), 2)
                    total += pow(Double(reference), 2)
                }
                // Kernels for blocks may round activations; a token within that of the likeliest one is as good.
                let top = try #require(row.max())
                #expect(top - row[row.startIndex + Int(best[place])] < 0.1, "text \(text), place \(place)")
            }
            #expect((noise / total).squareRoot() < 0.02, "text \(text)")
        }
    }
}
