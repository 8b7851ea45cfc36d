import Architectures
import Foundation
import GraphIR
import JSON
import Operators
import SafetensorsConverter
import Tensors
import TestSupport
import Testing

/// Checkpoints against what the reference implementation answers.
@Suite struct CheckpointReferenceTests {
    static let corpus = [
        "bert-encoder", "bert-masked-lm", "bert-masked-lm/checkpoint-legacy-names", "bert-sequence-classification",
        "bert-sequence-classification/checkpoint-bf16", "bert-sequence-classification/checkpoint-fp16",
        "bert-sequence-classification/checkpoint-sharded", "bert-token-classification", "distilbert-sequence-classification",
        "mpnet-encoder", "roberta-sequence-classification", "xlm-roberta-encoder",
    ]

    @Test(.needsFixture("corpus"), arguments: corpus)
    func corpusCheckpoint(_ name: String) throws {
        let folder = Fixtures.unpacked("corpus").appendingPathComponent(name)
        let conversion = try CheckpointImporter.convert(folderOrFile: folder)
        #expect(conversion.warnings.isEmpty)
        try conversion.graph.verify()
        // Checkpoints that only store the same weights otherwise have their cases one level up.
        let own = folder.appendingPathComponent("cases.safetensors")
        let shared = folder.deletingLastPathComponent().appendingPathComponent("cases.safetensors")
        let cases = CheckpointCases(
            file: try SafetensorsFile(contentsOf: FileManager.default.fileExists(atPath: own.path) ? own : shared))
        #expect(cases.count == 8)
        for number in 0..<cases.count {
            let inputs = try cases.inputs(number, of: conversion.graph)
            let results = try ReferenceInterpreter.run(conversion.graph, inputs)
            let expected = try cases.outputs(number)
            #expect(Set(results.keys) == Set(expected.map(\.name)))
            for (output, tensor) in expected {
                let result = try #require(results[output])
                let difference = checkpointDifference(result, tensor, mask: inputs["attention_mask"])
                #expect(difference <= 1e-5, "case \(number), \(output)")
            }
        }
    }

    static let architectures = Fixtures.folder.appendingPathComponent("architectures")
    static let generated = (try? FileManager.default.contentsOfDirectory(atPath: architectures.path))?
        .filter { !$0.hasSuffix(".py") }.sorted() ?? []

    @Test func allGeneratedCheckpointsAreThere() { #expect(Self.generated.count == 22) }

    /// Also positions that are masked, and rows without any token.
    @Test(arguments: generated)
    func generatedCheckpoint(_ name: String) throws {
        let folder = Self.architectures.appendingPathComponent(name)
        let conversion = try CheckpointImporter.convert(folderOrFile: folder)
        #expect(conversion.warnings.isEmpty)
        try conversion.graph.verify()
        let graph = conversion.graph
        let parsed = try Graph(parsing: graph.text) { name in
            try #require(graph.usedConstants.first { graph[$0].name == name }.flatMap { graph.constant($0) })
        }
        #expect(parsed.text == graph.text)
        let cases = CheckpointCases(file: try SafetensorsFile(contentsOf: folder.appendingPathComponent("cases.safetensors")))
        #expect(cases.count >= 2)
        for number in 0..<cases.count {
            let results = try ReferenceInterpreter.run(conversion.graph, try cases.inputs(number, of: conversion.graph))
            let expected = try cases.outputs(number)
            #expect(Set(results.keys) == Set(expected.map(\.name)))
            for (output, tensor) in expected {
                #expect(checkpointDifference(try #require(results[output]), tensor) <= 1e-5, "case \(number), \(output)")
            }
        }
        // attention_mask and token_type_ids left out.
        let tokens = ["input_ids": try cases.file.tensor(named: "case0.input_ids")]
        let results = try ReferenceInterpreter.run(conversion.graph, tokens)
        for (output, tensor) in try cases.outputs(0, group: "tokens_only") {
            #expect(checkpointDifference(try #require(results[output]), tensor) <= 1e-5, "tokens only, \(output)")
        }
    }

    /// A trained classifier, on sentences.
    @Test func topics() throws {
        let folder = Fixtures.folder.appendingPathComponent("categorium-topics")
        let conversion = try CheckpointImporter.convert(folderOrFile: folder)
        #expect(conversion.warnings.isEmpty)
        let reference = try JSONParser.parse(try Data(contentsOf: folder.appendingPathComponent("reference.json")))
        let cases = try #require(reference["cases"]?.arrayValue)
        #expect(cases.count > 5)
        for text in cases {
            let ids = try #require(text["input_ids"]?.arrayValue).compactMap(\.intValue).map(Int64.init)
            let logits = try #require(text["logits"]?.arrayValue).compactMap(\.doubleValue)
            let tokens = ["input_ids": try Tensor(integers: ids, shape: [1, ids.count])]
            let result = try #require(try ReferenceInterpreter.run(conversion.graph, tokens)["logits"])
            #expect(checkpointDifference(result, try Tensor(doubles: logits, shape: [1, logits.count])) <= 1e-5)
            let best = try #require(result.doubles().indices.max { result.doubles()[$0] < result.doubles()[$1] })
            #expect(conversion.configuration.labels[best] == text["label"]?.stringValue)
        }
    }

    @Test(.needsFixture("corpus")) func inputsAndOutputsAreTyped() throws {
        let folder = Fixtures.unpacked("corpus").appendingPathComponent("bert-encoder")
        let graph = try CheckpointImporter.convert(folderOrFile: folder).graph
        #expect(graph.inputs.map { graph[$0].name } == ["input_ids", "attention_mask", "token_type_ids"])
        #expect(graph.inputs.map { graph[$0].inputDefault } == [nil, .ones, .zeros])
        #expect(graph.inputs.allSatisfy { graph.type($0).description == "i64[batch, sequence]" })
        #expect(graph.outputs.map { graph.type($0.value).description } == ["f32[batch, sequence, 32]", "f32[batch, 32]"])
        // The fused operators, as many as the architecture has.
        #expect(graph.nodes.count { $0.op is ScaledDotProductAttention } == 2)
        #expect(graph.nodes.count { $0.op is LayerNorm } == 5)
        #expect(graph.nodes.count { $0.op is Linear } == 2 * 6 + 1)
    }

    @Test(.needsFixture("corpus")) func halfPrecisionStaysHalfInTheFile() throws {
        let folder = Fixtures.unpacked("corpus").appendingPathComponent("bert-sequence-classification/checkpoint-bf16")
        let graph = try CheckpointImporter.convert(folderOrFile: folder).graph
        let weights = graph.usedConstants.filter { graph[$0].name.hasSuffix(".weight") || graph[$0].name.hasSuffix(".bias") }
        #expect(weights.count == 41)
        #expect(weights.allSatisfy { graph.type($0).dtype == .bf16 })
        #expect(graph.nodes.count { ($0.op as? Cast)?.to == .f32 } == weights.count)
    }

    @Test(.needsFixture("corpus")) func weightsAreThoseOfTheFile() throws {
        let folder = Fixtures.unpacked("corpus").appendingPathComponent("bert-encoder")
        let file = try SafetensorsFile(contentsOf: folder.appendingPathComponent("model.safetensors"))
        let graph = try CheckpointImporter.convert(folderOrFile: folder).graph
        let name = "encoder.layer.0.intermediate.dense.weight"
        let id = try #require(graph.usedConstants.first { graph[$0].name == name })
        #expect(Tensor.identical(try #require(graph.constant(id)), try file.tensor(named: name)))
    }

    @Test(.needsFixture("corpus")) func aFileAndAnIndexConvertLikeTheirFolder() throws {
        let folder = Fixtures.unpacked("corpus").appendingPathComponent("bert-sequence-classification")
        let file = try CheckpointImporter.convert(folderOrFile: folder.appendingPathComponent("model.safetensors"))
        #expect(file.sourceFiles.map(\.lastPathComponent) == ["config.json", "model.safetensors"])
        let sharded = folder.appendingPathComponent("checkpoint-sharded/model.safetensors.index.json")
        let index = try CheckpointImporter.convert(folderOrFile: sharded)
        #expect(index.sourceFiles.count == 4)
        #expect(index.graph.usedConstants.map { index.graph[$0].name } == file.graph.usedConstants.map { file.graph[$0].name })
    }

    @Test func tiedDecoderIsOneTensor() throws {
        let folder = Self.architectures.appendingPathComponent("roberta-masked-lm")
        let graph = try CheckpointImporter.convert(folderOrFile: folder).graph
        let id = try #require(graph.usedConstants.first { graph[$0].name == "embeddings.word_embeddings.weight" })
        #expect(graph.uses()[id]?.count == 2)
    }

    @Test func configurationTellsWhatCallersNeed() throws {
        let xlm = try CheckpointImporter.convert(
            folderOrFile: Self.architectures.appendingPathComponent("xlm-roberta-sequence-classification")).configuration
        #expect(xlm.modelType == "xlm-roberta")
        #expect(xlm.head == .sequenceClassification)
        #expect(xlm.labels == ["LABEL_0", "LABEL_1", "LABEL_2", "LABEL_3", "LABEL_4"])
        #expect(xlm.isMultiLabel)
        #expect(xlm.maximumPositions == 38)
        #expect(xlm.hiddenSize == 24)
        #expect(xlm.vocabularySize == 64)
        let other = try CheckpointImporter.convert(folderOrFile: Self.architectures.appendingPathComponent("roberta-token-classification"))
        #expect(other.configuration.maximumPositions == 36)
        #expect(!other.configuration.isMultiLabel)
        let albert = try CheckpointImporter.convert(folderOrFile: Self.architectures.appendingPathComponent("albert-masked-lm"))
        #expect(albert.configuration.head == .maskedLanguageModel)
        #expect(albert.configuration.labels.isEmpty)
        #expect(albert.configuration.maximumPositions == 40)
    }
}
