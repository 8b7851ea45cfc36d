@testable import Architectures
import Foundation
import GraphIR
import JSON
import Operators
import Optimizer
import SafetensorsConverter
import Tensors
import TestSupport
import Testing

/// What decoders become, and what stands in the way of them.
@Suite struct DecoderStructureTests {
    private static let folder = Fixtures.unpacked("decoders")

    private static func graph(_ name: String) throws -> Graph {
        try CheckpointImporter.convert(folderOrFile: folder.appendingPathComponent(name)).graph
    }

    @Test(.needsFixture("decoders")) func inputsOutputsAndOneSlotForEachLayer() throws {
        let graph = try Self.graph("gemma2")
        #expect(graph.inputs.map { graph[$0].name } == ["input_ids", "attention_mask"])
        #expect(graph.inputs.map { graph[$0].inputDefault } == [nil, .ones])
        #expect(graph.outputs.map { "\($0.name) \(graph.type($0.value))" } == ["logits f32[batch, sequence, 40]"])
        let attention = graph.nodes.compactMap { $0.op as? CachedAttention }
        #expect(attention.map(\.slot) == [0, 1])
        #expect(attention.map(\.window) == [4, 0])
        #expect(attention.map(\.softcap) == [2, 2])
        let base = try Self.graph("llama-base")
        #expect(base.outputs.map { "\($0.name) \(base.type($0.value))" } == ["last_hidden_state f32[batch, sequence, 24]"])
    }

    /// Every bias, activation and residual that can be is part of its dense layer; layers of one input are one.
    @Test(.needsFixture("decoders"), arguments: [
        ("llama3", 2, 0), ("qwen2-window", 3, 0), ("phi3", 2, 0), ("gpt2-scaled", 2, 1), ("gpt-neox", 2, 0), ("opt", 2, 2), ("gemma2", 2, 4),
    ])
    func decodersAreFused(_ name: String, _ layers: Int, _ additions: Int) throws {
        var graph = try Self.graph(name)
        try PassPipeline.default.run(&graph)
        #expect(graph.nodes.count { $0.op is Linear } == 4 * layers + 1)
        #expect(graph.nodes.count { $0.op as? Binary == Binary(.add) } == additions)
        #expect(graph.nodes.count { $0.op is Transpose } == 0)
        #expect(graph.nodes.count { $0.op is CachedAttention } == layers)
        #expect(graph.nodes.count { $0.op is CachePositions } == 1)
        // Of the rotary frequencies there is one constant for all layers.
        let frequencies = Set(graph.nodes.filter { $0.op is RotaryEmbedding }.compactMap { $0.inputs[2] })
        #expect(frequencies.count == (graph.nodes.contains { $0.op is RotaryEmbedding } ? 1 : 0))
    }

    @Test(.needsFixture("decoders")) func tiedMatricesAreOneTensor() throws {
        let graph = try Self.graph("llama3")
        let id = try #require(graph.usedConstants.first { graph[$0].name == "embed_tokens.weight" })
        #expect(graph.uses()[id]?.count == 2)
        #expect(!graph.usedConstants.contains { graph[$0].name == "lm_head.weight" })
    }

    @Test(.needsFixture("decoders")) func contextsAreThoseOfTheFrequencies() throws {
        func positions(_ name: String, _ length: Int? = nil) throws -> Int? {
            try CheckpointImporter.convert(folderOrFile: Self.folder.appendingPathComponent(name), length: length).configuration.maximumPositions
        }
        #expect(try positions("phi3-long") == 16)
        #expect(try positions("phi3-long", 16) == 16)
        #expect(try positions("phi3-long", 17) == 64)
        #expect(try positions("llama-dynamic") == 64)
        #expect(try positions("t5-gated") == nil)
    }

    @Test(arguments: [
        ("LlamaForCausalLM", "llama", Head.causalLanguageModel), ("GPT2LMHeadModel", "gpt2", .causalLanguageModel),
        ("Gemma3ForConditionalGeneration", "gemma3", .causalLanguageModel), ("T5ForConditionalGeneration", "t5", .sequenceToSequence),
        ("T5EncoderModel", "t5", .encoder), ("OPTModel", "opt", .encoder),
    ])
    func classesTellTheirHeads(_ name: String, _ modelType: String, _ head: Head) {
        #expect(Head.named(byClass: name, modelType: modelType) == head)
    }

    /// The issues of a checkpoint whose config.json has other values.
    private static func issues(_ name: String, _ changes: [(String, JSONValue?)], head: Head? = nil) throws -> [String] {
        let source = folder.appendingPathComponent(name)
        return try Fixtures.withTemporaryFolder { target in
            var members = try JSONParser.parse(try Data(contentsOf: source.appendingPathComponent("config.json"))).members
            for (key, value) in changes {
                members.removeAll { $0.key == key }
                if let value { members.append(JSONMember(key: key, value: value)) }
            }
            try Data(JSONValue.object(members).text.utf8).write(to: target.appendingPathComponent("config.json"))
            try FileManager.default.copyItem(
                at: source.appendingPathComponent("model.safetensors"), to: target.appendingPathComponent("model.safetensors"))
            let issues = try CheckpointImporter.check(folderOrFile: target, head: head)
            #expect(issues.allSatisfy { !$0.description.contains("\n") })
            return issues.map(\.reason)
        }
    }

    @Test(.needsFixture("decoders"), arguments: [
        ("llama3", "hidden_act", JSONValue.string("relu2"), "hidden_act is \"relu2\""),
        ("llama3", "rope_parameters", ["rope_type": "proportional"], "rope_parameters.rope_type is \"proportional\""),
        ("llama3", "rope_parameters", ["rope_type": "default", "mrope_section": [1, 2]], "mrope_section"),
        ("llama3", "rope_parameters", ["rope_type": "llama3", "factor": 2.0], "rope_parameters.low_freq_factor is missing"),
        ("llama3", "rope_parameters", "default", "rope_parameters is \"default\", expected an object"),
        ("llama3", "rope_scaling", ["type": "linear"], "rope_scaling.factor is missing"),
        ("llama3", "rope_scaling", ["type": "linear", "factor": -1], "rope_scaling.factor is -1"),
        ("llama3", "partial_rotary_factor", 0.5, "partial_rotary_factor is 0.5"),
        ("llama3", "no_rope_layers", [1, 0], "no_rope_layers"),
        ("llama3", "num_key_value_heads", 3, "num_attention_heads 4 is no multiple of num_key_value_heads 3"),
        ("llama3", "num_key_value_heads", 0, "num_key_value_heads is 0"),
        ("llama3", "num_hidden_layers", .integer(.max), "num_hidden_layers"),
        ("llama3", "attention_bias", "yes", "attention_bias"),
        ("llama3", "add_cross_attention", true, "add_cross_attention"),
        ("llama3", "quantization_config", ["bits": 4], "quantization_config"),
        ("mistral", "attention_bias", true, "attention_bias is true"),
        ("mistral", "sliding_window", 0, "sliding_window is 0"),
        ("mistral", "layer_types", ["sliding_attention", "full_attention"], "layer_types differ"),
        ("qwen2-types", "layer_types", ["chunked_attention", "full_attention"], "chunked_attention"),
        ("qwen2-types", "layer_types", ["full_attention"], "layer_types has 1 entries for 2 layers"),
        ("qwen2-types", "use_sliding_window", false, "sliding_window is missing"),
        ("qwen2-types", "rope_scaling", ["type": "mrope"], "rope_scaling.rope_type is \"mrope\""),
        ("gemma2", "use_bidirectional_attention", true, "use_bidirectional_attention"),
        ("gemma2", "attn_logit_softcapping", -2, "attn_logit_softcapping is -2"),
        ("gemma2", "query_pre_attn_scalar", 0, "query_pre_attn_scalar is 0"),
        ("gemma3", "attn_logit_softcapping", 50.0, "attn_logit_softcapping"),
        ("phi3-long", "rope_parameters", ["rope_type": "longrope", "short_factor": [1.0], "long_factor": [1.0, 2.0]], "short_factor has 1 numbers"),
        ("phi3-long", "rope_parameters", ["rope_type": "longrope", "short_factor": [1, 1, 1, 1]], "long_factor is missing"),
        ("phi3", "rope_parameters", ["rope_type": "default", "partial_rotary_factor": 1.5], "partial_rotary_factor lets 12 of the 8"),
        ("gpt-neo", "attention_types", [[["global", "round"], 2]], "attention_types has \"round\""),
        ("gpt-neo", "attention_types", [[["global"], 1_000_000_000_000]], "attention_types"),
        ("gpt-neo", "attention_types", [[["global"], 3]], "attention_types is for 3 layers"),
        ("gpt2-scaled", "n_head", 5, "n_embd 24 is no multiple of n_head 5"),
        ("gpt2-scaled", "activation_function", "quick_gelu", "activation_function is \"quick_gelu\""),
        ("opt", "word_embed_proj_dim", 1, "embed_tokens.weight"),
        ("t5-gated", "dense_act_fn", "mish", "dense_act_fn is \"mish\""),
        ("t5-gated", "relative_attention_max_distance", 2, "relative_attention_max_distance 2 is too small"),
        ("t5-gated", "is_decoder", true, "is_decoder"),
    ] as [(String, String, JSONValue, String)])
    func valuesThatChangeTheResultAreNamed(_ name: String, _ key: String, _ value: JSONValue, _ expected: String) throws {
        let reasons = try Self.issues(name, [(key, value)])
        #expect(reasons.contains { $0.contains(expected) }, "\(reasons)")
    }

    @Test(.needsFixture("decoders")) func headsThatDoNotFitAreNamed() throws {
        #expect(try Self.issues("llama3", [], head: .maskedLanguageModel) == ["model_type \"llama\" has no head masked-lm; there are text-generation, encoder"])
        let reasons = try Self.issues("llama3", [("architectures", ["LlamaForSequenceClassification"])])
        #expect(reasons == ["architectures names the class \"LlamaForSequenceClassification\", which is none of the heads of llama; choose one of text-generation, encoder"])
        #expect(try Self.issues("llama3", [("architectures", ["LlamaForSequenceClassification"])], head: .causalLanguageModel).isEmpty)
        #expect(try Self.issues("t5-gated", [("architectures", ["T5Model"])]).count == 1)
    }

    @Test(.needsFixture("decoders")) func damagedConfigurationsNeverTrap() throws {
        let samples = try ["gemma3-old", "phi3-su", "gpt-neo", "t5-gated", "llama3"].map {
            Array(try Data(contentsOf: Self.folder.appendingPathComponent("\($0)/config.json")))
        }
        var fuzzer = Fuzzer(samples: samples)
        var converted = 0
        try Fixtures.withTemporaryFolder { target in
            try FileManager.default.copyItem(
                at: Self.folder.appendingPathComponent("llama3/model.safetensors"), to: target.appendingPathComponent("model.safetensors"))
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
}

@Suite struct RelativePositionBucketTests {
    /// Values of the reference implementation's `_relative_position_bucket`.
    @Test(arguments: [
        (32, 128, true, [0, 1, 7, 8, 15, 16, 17, 63, 64, 127, 128, 300], [0, 17, 23, 24, 25, 26, 26, 29, 30, 31, 31, 31]),
        (32, 128, false, [0, -1, -15, -16, -17, -31, -32, -64, -127, -128, -300, 4], [0, 1, 15, 16, 16, 21, 21, 26, 31, 31, 31, 0]),
        (10, 20, true, [0, 1, 2, 3, 4, 8, 19, 20, -1, -3, -9, -20], [0, 6, 7, 7, 7, 8, 9, 9, 1, 2, 3, 4]),
        (10, 20, false, [0, -1, -4, -5, -6, -10, -19, -20, 3], [0, 1, 4, 5, 5, 7, 9, 9, 0]),
        (32, 256, true, [-8, -16, -32, -64, -128, -256, 8, 16, 32, 64, 128, 256], [8, 9, 11, 12, 14, 15, 24, 25, 27, 28, 30, 31]),
    ])
    func bucketsAreThoseOfTheReference(_ count: Int, _ limit: Int, _ isBidirectional: Bool, _ distances: [Int], _ expected: [Int]) {
        let buckets = RelativePositionBuckets(count: count, maximumDistance: limit, isBidirectional: isBidirectional)
        #expect(distances.map(buckets.bucket) == expected)
    }
}
