@testable import Architectures
import Foundation
import GraphIR
import JSON
import SafetensorsConverter
import Tensors
import TestSupport
import Testing

/// A copy of a generated checkpoint with changes.
private struct Checkpoint {
    var configuration: [JSONMember]
    var tensors: [(name: String, tensor: Tensor)]

    init(_ name: String) throws {
        let folder = Fixtures.folder.appendingPathComponent("architectures/\(name)")
        configuration = try JSONParser.parse(try Data(contentsOf: folder.appendingPathComponent("config.json"))).members
        let file = try SafetensorsFile(contentsOf: folder.appendingPathComponent("model.safetensors"))
        tensors = try file.entries.map { ($0.name, try file.tensor(named: $0.name)) }
    }

    subscript(_ key: String) -> JSONValue? {
        get { JSONValue.object(configuration)[key] }
        set {
            configuration.removeAll { $0.key == key }
            if let newValue { configuration.append(JSONMember(key: key, value: newValue)) }
        }
    }

    mutating func rename(_ change: (String) -> String) { tensors = tensors.map { (change($0.name), $0.tensor) } }

    func withFolder<Result>(_ body: (URL) throws -> Result) throws -> Result {
        try Fixtures.withTemporaryFolder { folder in
            try Data(JSONValue.object(configuration).text.utf8).write(to: folder.appendingPathComponent("config.json"))
            try SafetensorsWriter.write(tensors, to: folder.appendingPathComponent("model.safetensors"))
            return try body(folder)
        }
    }

    func issues(head: Head? = nil) throws -> [CheckpointIssue] {
        try withFolder { folder in
            let issues = try CheckpointImporter.check(folderOrFile: folder, head: head)
            // Both ways in say the same.
            if issues.isEmpty {
                _ = try CheckpointImporter.convert(folderOrFile: folder, head: head)
            } else {
                #expect { try CheckpointImporter.convert(folderOrFile: folder, head: head) } throws: { ($0 as? CheckpointError)?.issues == issues }
            }
            #expect(issues.allSatisfy { !$0.description.contains("\n") })
            return issues
        }
    }

    func convert(head: Head? = nil) throws -> CheckpointConversion {
        try withFolder { try CheckpointImporter.convert(folderOrFile: $0, head: head) }
    }
}

@Suite struct CheckpointErrorTests {
    @Test func anUnknownModelTypeListsTheKnownOnes() throws {
        var checkpoint = try Checkpoint("bert-pretraining")
        checkpoint["model_type"] = "gpt5\nx"
        let issue = try #require(try checkpoint.issues().first)
        #expect(issue.kind == .unsupported)
        #expect(issue.reason == "model_type is \"gpt5\\nx\", known are \(KnownArchitecture.modelTypes.joined(separator: ", "))")
        checkpoint["model_type"] = nil
        #expect(try checkpoint.issues().map(\.kind) == [.configuration])
    }

    @Test func missingSizesAreListedAtOnce() throws {
        var checkpoint = try Checkpoint("bert-pretraining")
        checkpoint["hidden_size"] = nil
        checkpoint["num_attention_heads"] = .null
        let reasons = try checkpoint.issues().map(\.reason)
        #expect(reasons == ["hidden_size is missing", "num_attention_heads is missing"])
    }

    @Test(arguments: [
        ("hidden_size", JSONValue.integer(-24)), ("hidden_size", .integer(1 << 40)), ("hidden_size", .string("24")), ("hidden_size", .number(24.5)),
        ("hidden_size", .number(1e300)), ("vocab_size", .integer(0)), ("vocab_size", .integer(.max)), ("num_hidden_layers", .integer(.max)),
        ("num_hidden_layers", .integer(.min)), ("num_attention_heads", .integer(0)), ("num_attention_heads", .array([])),
        ("intermediate_size", .bool(true)), ("max_position_embeddings", .integer(-1)), ("type_vocab_size", .integer(0)),
        ("layer_norm_eps", .integer(-1)), ("layer_norm_eps", .string("1e-12")), ("layer_norm_eps", .number(1e200)),
        ("hidden_act", .integer(3)), ("architectures", .string("BertModel")), ("architectures", .array([1])), ("tie_word_embeddings", .integer(1)),
        ("problem_type", .string("guess")), ("is_decoder", .bool(true)), ("add_cross_attention", .bool(true)),
        ("position_embedding_type", .string("relative_key")), ("quantization_config", ["bits": 4] as JSONValue), ("num_attention_heads", .integer(5)),
        ("pruned_heads", ["0": [1]] as JSONValue),
    ])
    func hostileValuesAreNamed(_ key: String, _ value: JSONValue) throws {
        var checkpoint = try Checkpoint("bert-pretraining")
        checkpoint[key] = value
        let issues = try checkpoint.issues(head: .encoder)
        #expect(issues.contains { $0.reason.contains(key) && $0.path.hasSuffix("config.json") })
    }

    @Test(arguments: [
        JSONValue.object([]), ["0": "a", "2": "b"], ["0": "a", "0x1": "b"], ["-1": "a"], ["0": 5], .array(["a"]),
        ["0": "a", "00": "b"],
    ])
    func brokenLabelsAreRefused(_ labels: JSONValue) throws {
        var checkpoint = try Checkpoint("roberta-token-classification")
        checkpoint["id2label"] = labels
        #expect(try checkpoint.issues().contains { $0.reason.contains("id2label") })
    }

    @Test func labelsAreOrderedByTheirNumbers() throws {
        var checkpoint = try Checkpoint("roberta-token-classification")
        checkpoint["id2label"] = ["4": "e", "0": "a", "2": "c", "1": "b", "3": "d"]
        #expect(try checkpoint.convert().configuration.labels == ["a", "b", "c", "d", "e"])
        checkpoint["id2label"] = nil
        checkpoint["num_labels"] = 5
        #expect(try checkpoint.convert().configuration.labels.last == "LABEL_4")
    }

    @Test func aLabelCountThatDoesNotFitNamesTheTensor() throws {
        var checkpoint = try Checkpoint("roberta-token-classification")
        checkpoint["id2label"] = ["0": "a", "1": "b"]
        #expect(try checkpoint.issues().map(\.reason) == [
            "tensor \"classifier.weight\" has the shape [5, 24], config.json asks for [2, 24]",
            "tensor \"classifier.bias\" has the shape [5], config.json asks for [2]",
        ])
    }

    @Test func everythingWrongIsListedAtOnce() throws {
        var checkpoint = try Checkpoint("electra-token-classification")
        checkpoint["hidden_act"] = "quick_gelu"
        checkpoint["vocab_size"] = 65
        checkpoint.tensors.removeAll { $0.name == "electra.encoder.layer.1.output.dense.bias" || $0.name == "classifier.weight" }
        let position = try #require(checkpoint.tensors.firstIndex { $0.name == "electra.embeddings.LayerNorm.weight" })
        checkpoint.tensors[position].tensor = try Tensor(integers: [Int64](repeating: 1, count: 16), shape: [16])
        let issues = try checkpoint.issues()
        #expect(issues.map(\.kind) == [.unsupported, .missingTensors, .tensorShape, .tensorType])
        #expect(issues[0].reason.contains("known are gelu, gelu_new"))
        #expect(issues[1].reason == "lacks the tensors \"electra.encoder.layer.1.output.dense.bias\", \"classifier.weight\"")
        #expect(issues[2].reason == "tensor \"electra.embeddings.word_embeddings.weight\" has the shape [64, 16], config.json asks for [65, 16]")
        #expect(issues[3].reason == "tensor \"electra.embeddings.LayerNorm.weight\" is i64, expected f32, f16 or bf16")
    }

    @Test func sharedTensorsAreReportedOnce() throws {
        var checkpoint = try Checkpoint("albert-encoder")
        checkpoint.tensors.removeAll { $0.name.hasSuffix("albert_layers.0.ffn.weight") }
        let issues = try checkpoint.issues()
        #expect(issues.map(\.reason) == [
            "lacks the tensors \"encoder.albert_layer_groups.0.albert_layers.0.ffn.weight\", \"encoder.albert_layer_groups.1.albert_layers.0.ffn.weight\""
        ])
    }

    @Test func unusedTensorsAreWarnedOfByName() throws {
        var checkpoint = try Checkpoint("bert-pretraining")
        checkpoint.tensors.append(("bert.embeddings.position_ids", try Tensor(integers: [0, 1], shape: [1, 2])))
        checkpoint.tensors.append(("adapter\n.weight", try Tensor(floats: [1], shape: [1])))
        #expect(try checkpoint.convert().warnings.map { $0.split(separator: ": ", maxSplits: 1).last } == ["tensors that nothing uses: \"adapter\\n.weight\""])
        // A head that the caller does not want.
        checkpoint.tensors.removeLast()
        let conversion = try checkpoint.convert(head: .encoder)
        #expect(conversion.graph.outputs.map(\.name) == ["last_hidden_state", "pooler_output"])
        #expect(conversion.warnings.count == 1)
        #expect(conversion.warnings[0].contains("\"cls.predictions.transform.dense.weight\""))
        #expect(!conversion.warnings[0].contains("seq_relationship"))
    }

    @Test(arguments: ["model.", "module.roberta.", "", "roberta."])
    func prefixesAreFound(_ prefix: String) throws {
        var checkpoint = try Checkpoint("roberta-token-classification")
        let plain = try checkpoint.convert()
        let outer = prefix == "module.roberta." ? "module." : ""
        checkpoint.rename { name in
            name.hasPrefix("roberta.") ? prefix + name.dropFirst("roberta.".count) : outer + name
        }
        let renamed = try checkpoint.convert()
        #expect(renamed.warnings.isEmpty)
        #expect(GraphDiff(renamed.graph, plain.graph).differences.isEmpty)
    }

    @Test func anEncoderWithoutPoolerHasOneOutput() throws {
        var checkpoint = try Checkpoint("camembert-encoder")
        checkpoint.tensors.removeAll { $0.name.hasPrefix("pooler.") }
        #expect(try checkpoint.convert().graph.outputs.map(\.name) == ["last_hidden_state"])
        // Half a pooler is a damaged checkpoint.
        checkpoint = try Checkpoint("camembert-encoder")
        checkpoint.tensors.removeAll { $0.name == "pooler.dense.bias" }
        #expect(try checkpoint.issues().map(\.kind) == [.missingTensors])
    }

    @Test func aDecoderThatDiffersFromTheEmbeddingIsUsed() throws {
        var checkpoint = try Checkpoint("bert-masked-lm-untied")
        checkpoint["tie_word_embeddings"] = true
        let conversion = try checkpoint.convert()
        #expect(conversion.warnings.count == 1)
        #expect(conversion.warnings.allSatisfy { $0.contains("cls.predictions.decoder.weight") })
        #expect(conversion.graph.usedConstants.contains { conversion.graph[$0].name == "cls.predictions.decoder.weight" })
    }

    @Test(arguments: ["BertForQuestionAnswering", "BertLMHeadModel", "BertForSentiment"])
    func anUnknownHeadSaysWhatCanBeChosen(_ name: String) throws {
        var checkpoint = try Checkpoint("bert-pretraining")
        checkpoint["architectures"] = [.string(name)]
        let issues = try checkpoint.issues()
        #expect(issues.map(\.kind) == [.unsupported])
        #expect(issues[0].reason.contains(name) && issues[0].reason.contains("sequence-classification"))
        #expect(try checkpoint.issues(head: .maskedLanguageModel).isEmpty)
    }

    @Test func paddingLeavesRoomForPositions() throws {
        var checkpoint = try Checkpoint("roberta-token-classification")
        checkpoint["pad_token_id"] = 39
        #expect(try checkpoint.issues().map(\.kind) == [.configuration])
    }

    @Test func aDiscriminatorIsNoLanguageModel() throws {
        var checkpoint = try Checkpoint("electra-masked-lm")
        checkpoint["architectures"] = ["ElectraForPreTraining"]
        #expect(try checkpoint.issues().map(\.kind) == [.unsupported])
    }

    @Test func withoutAClassTheEncoderIsTaken() throws {
        var checkpoint = try Checkpoint("camembert-encoder")
        checkpoint["architectures"] = nil
        let conversion = try checkpoint.convert()
        #expect(conversion.configuration.head == .encoder)
        #expect(conversion.warnings.count == 1)
        #expect(try checkpoint.convert(head: .encoder).warnings.isEmpty)
    }

    @Test func missingFilesAreNamed() throws {
        try Fixtures.withTemporaryFolder { folder in
            #expect { try CheckpointImporter.convert(folderOrFile: folder) } throws: { "\($0)".contains("config.json") }
            let nowhere = folder.appendingPathComponent("nowhere")
            #expect { try CheckpointImporter.convert(folderOrFile: nowhere) } throws: { "\($0)".contains("nowhere") }
            try Data("{\"model_type\": \"bert\", ".utf8).write(to: folder.appendingPathComponent("config.json"))
            #expect { try CheckpointImporter.convert(folderOrFile: folder) } throws: { "\($0)".contains("config.json: invalid JSON at byte") }
            try Data("[]".utf8).write(to: folder.appendingPathComponent("config.json"))
            #expect(throws: CheckpointError.self) { try CheckpointImporter.convert(folderOrFile: folder) }
        }
    }

    @Test func damagedConfigurationsNeverTrap() throws {
        let folder = Fixtures.folder.appendingPathComponent("architectures")
        let samples = try ["albert-encoder", "mpnet-token-classification", "roberta-token-classification"].map {
            Array(try Data(contentsOf: folder.appendingPathComponent("\($0)/config.json")))
        }
        var fuzzer = Fuzzer(samples: samples)
        var converted = 0
        try Fixtures.withTemporaryFolder { target in
            try FileManager.default.copyItem(
                at: folder.appendingPathComponent("roberta-token-classification/model.safetensors"),
                to: target.appendingPathComponent("model.safetensors"))
            let tried = try fuzzer.run { bytes in
                try Data(bytes).write(to: target.appendingPathComponent("config.json"))
                do {
                    if try CheckpointImporter.check(folderOrFile: target).isEmpty { converted += 1 }
                } catch let error as FileError {
                    #expect(error.path.hasSuffix("config.json"))
                }
            }
            #expect(tried > converted)
        }
    }

    @Test func damagedWeightsNeverTrap() throws {
        let folder = Fixtures.folder.appendingPathComponent("architectures/distilbert-encoder")
        let file = folder.appendingPathComponent("model.safetensors")
        // The header alone, most of the time: that is where damage counts.
        var fuzzer = Fuzzer(samples: [Array(try Data(contentsOf: file)), Array(try Data(contentsOf: file).prefix(6000))])
        try Fixtures.withTemporaryFolder { target in
            try FileManager.default.copyItem(
                at: folder.appendingPathComponent("config.json"), to: target.appendingPathComponent("config.json"))
            try fuzzer.run { bytes in
                try Data(bytes).write(to: target.appendingPathComponent("model.safetensors"))
                do {
                    _ = try CheckpointImporter.check(folderOrFile: target)
                } catch let error as SafetensorsError {
                    #expect(error.path.hasSuffix("model.safetensors"))
                }
            }
        }
    }
}

@Suite struct RelativePositionBiasTests {
    /// Values of the reference implementation's `relative_position_bucket`.
    @Test(arguments: [
        (0, 0), (1, 17), (-1, 1), (7, 23), (-7, 7), (8, 24), (11, 24), (12, 25), (15, 25), (16, 26), (22, 26), (23, 27), (31, 27), (32, 28),
        (45, 28), (46, 29), (63, 29), (64, 30), (90, 30), (91, 31), (127, 31), (128, 31), (5000, 31), (-64, 14), (-5000, 15),
    ])
    func bucketsAreThoseOfTheReference(_ distance: Int, _ bucket: Int) {
        #expect(RelativePositionBuckets.mpnet.bucket(distance) == bucket)
    }
}
