import Foundation
import GraphIR
import Operators
import Optimizer
import TestSupport
import Tensors
import Testing

@testable import GGUFConverter

/// GGUF files as the gguf package writes them, against transformers with the same weights: Tests/Fixtures/gguf/make_gguf.py.
@Suite struct GGUFReferenceTests {
    static let folder = Fixtures.folder.appendingPathComponent("gguf")
    static let names = ["llama", "llama3", "gpt2", "qwen2", "qwen3", "gemma2", "gemma3", "phi3", "gptneox"]

    private func conversion(_ name: String) throws -> GGUFConversion {
        try GGUFImporter.convert(Self.folder.appendingPathComponent("\(name).gguf"))
    }

    @Test(arguments: names, [false, true])
    func logits(_ name: String, isOptimized: Bool) throws {
        let conversion = try conversion(name)
        #expect(conversion.warnings.isEmpty)
        #expect(conversion.configuration.head == .causalLanguageModel)
        var graph = conversion.graph
        if isOptimized { try PassPipeline.default.run(&graph) }
        let references = try SafetensorsFile(contentsOf: Self.folder.appendingPathComponent("references.safetensors"))
        let mask = try references.tensor(named: "\(name).mask")
        let inputs = ["input_ids": try references.tensor(named: "\(name).ids"), "attention_mask": mask]
        let outputs = try ReferenceInterpreter.run(graph, inputs)
        let logits = try #require(outputs["logits"])
        let expected = try references.tensor(named: "\(name).logits")
        #expect(logits.shape == expected.shape && logits.shape == [2, 11, 288])
        let (actual, reference, real) = (logits.floats(), expected.floats(), mask.integers())
        var worst: Float = 0
        for index in actual.indices where real[index / 288] != 0 { worst = max(worst, abs(actual[index] - reference[index])) }
        #expect(worst < 1e-4, "logits differ by \(worst)")
    }

    /// Weights are views of the file, in its blocks.
    @Test(arguments: names)
    func weightsStayAsTheyAre(_ name: String) throws {
        let conversion = try conversion(name)
        let constants = conversion.graph.usedConstants.compactMap { conversion.graph.constant($0) }
        for entry in conversion.file.tensors where entry.shape.count == 2 {
            let tensor = try conversion.file.tensor(named: entry.name)
            let kept = constants.filter { Tensor.identical($0, tensor) }
            #expect(!kept.isEmpty, "\(entry.name) of type \(entry.type)")
            #expect(kept.contains { $0.unsafePointer == tensor.unsafePointer }, "\(entry.name) was copied")
        }
    }

    @Test func metadataHaveTheirTypes() throws {
        let file = try GGUFFile(contentsOf: Self.folder.appendingPathComponent("llama.gguf"))
        #expect(file.version == 3)
        #expect(file.value("general.architecture")?.stringValue == "llama")
        #expect(file.value("llama.block_count")?.intValue == 2)
        #expect(file.value("llama.attention.layer_norm_rms_epsilon")?.doubleValue == Double(Float(1e-5)))
        #expect(file.value("tokenizer.ggml.add_bos_token")?.boolValue == false)
        let tokens = try #require(file.value("tokenizer.ggml.tokens")?.arrayValue)
        #expect(tokens.count == 288)
        let texts = try tokens.strings()
        #expect(texts.prefix(4) == ["<|endoftext|>", "<|im_start|>", "<|im_end|>", "\u{100}"])
        let bytes = try tokens.byteStrings()
        #expect(bytes.map { String(decoding: $0, as: UTF8.self) } == texts)
        let types = try #require(file.value("tokenizer.ggml.token_type")?.arrayValue).integers()
        #expect(types.prefix(5) == [3, 3, 3, 1, 1])
        #expect(throws: GGUFError.self) { try tokens.integers() }
        #expect(throws: GGUFError.self) { try tokens.bools() }
        let entry = try #require(file.entry(named: "blk.1.attn_k.weight"))
        #expect(entry.shape == [32, 64] && "\(entry.type)" == "Q4_1")
        #expect(file.entry(named: "blk.2.attn_k.weight") == nil)
    }

    /// The longest context that the positions of a model allow, and the settings that no tensor tells.
    @Test func configurationsAreThoseOfTheCheckpoints() throws {
        let llama = try conversion("llama").configuration
        #expect(llama.modelType == "llama" && llama.vocabularySize == 288 && llama.maximumPositions == 128 && llama.hiddenSize == 64)
        #expect(try conversion("gemma3").configuration.modelType == "gemma3_text")
        #expect(try conversion("gptneox").configuration.modelType == "gpt_neox")
    }
}
