import Foundation
import GraphFile
import JSON
import ModelConversion
import TestSupport
import Testing

/// What becomes of the files beside a language model.
@Suite struct LanguageModelConversionTests {
    /// A checkpoint with other side files.
    private static func convert(
        _ name: String, files: [String: String] = [:], configure: (inout ConversionOptions) -> Void = { _ in }
    ) throws -> ConvertedModel {
        try Fixtures.withTemporaryFolder { folder in
            let target = folder.appendingPathComponent("model")
            try FileManager.default.copyItem(at: Fixtures.unpacked("decoders").appendingPathComponent(name), to: target)
            for (file, text) in files { try Data(text.utf8).write(to: target.appendingPathComponent(file)) }
            var options = ConversionOptions()
            configure(&options)
            let model = try ModelConverter(target, options: options).convert()
            // What is described can be stored.
            #expect(try ModelDescription(json: model.description.json) == model.description)
            return model
        }
    }

    @Test(.needsFixture("decoders")) func theConfigurationTellsTokensAndContext() throws {
        let model = try Self.convert("mistral")
        #expect(model.description.task == .generation)
        #expect(model.description.architecture == "mistral")
        #expect(model.description.output == "logits")
        let settings = try #require(model.description.generation)
        #expect(settings.endTokens == [2])
        #expect(settings.beginToken == 1)
        #expect(settings.paddingToken == 0)
        #expect(settings.contextLength == 64)
        #expect(!settings.isSampled)
        #expect(model.description.chatTemplate == nil)
    }

    @Test(.needsFixture("decoders")) func theGenerationConfigurationGoesFirst() throws {
        let text = """
            {"eos_token_id": [5, 7], "do_sample": true, "temperature": 0.6, "top_p": 0.9, "min_p": 0.05, "repetition_penalty": 1.1,
             "max_new_tokens": 99, "num_beams": 4, "min_length": 0, "suppress_tokens": []}
            """
        let model = try Self.convert("mistral", files: ["generation_config.json": text])
        let settings = try #require(model.description.generation)
        #expect(settings.endTokens == [5, 7])
        #expect(settings.beginToken == 1)
        #expect(settings.isSampled)
        #expect(settings.temperature == 0.6)
        #expect(settings.topK == 50)
        #expect(settings.topP == 0.9)
        #expect(settings.minP == 0.05)
        #expect(settings.repetitionPenalty == 1.1)
        #expect(settings.maximumNewTokens == 99)
        let warnings = model.warnings.filter { $0.contains("generation_config.json") }
        #expect(warnings.count == 1 && warnings[0].contains("num_beams would change") && !warnings[0].contains("min_length"))
        #expect(model.provenance.sources.contains { $0.name == "generation_config.json" })
    }

    @Test(.needsFixture("decoders"), arguments: [
        "{\"eos_token_id\": \"x\"}", "{\"eos_token_id\": [1, -3]}", "{\"bos_token_id\": 1.5}", "{\"temperature\": -1}", "{\"top_k\": true}",
        "{\"top_p\": 7}", "{\"do_sample\": 1}", "{\"max_new_tokens\": 0}", "{",
    ])
    func aDamagedGenerationConfigurationIsNamed(_ text: String) throws {
        #expect { _ = try Self.convert("mistral", files: ["generation_config.json": text]) } throws: {
            "\($0)".contains("generation_config.json: ") && !"\($0)".contains("\n")
        }
    }

    @Test(.needsFixture("decoders")) func chatTemplatesAreFoundInAllPlaces() throws {
        let settings = "{\"chat_template\": \"from settings {{ messages[0].content }}\"}"
        func template(_ files: [String: String]) throws -> String? { try Self.convert("mistral", files: files).description.chatTemplate }
        #expect(try template(["tokenizer_config.json": settings]) == "from settings {{ messages[0].content }}")
        #expect(try template(["tokenizer_config.json": settings, "chat_template.json": "{\"chat_template\": \"json\"}"]) == "json")
        #expect(try template(["tokenizer_config.json": settings, "chat_template.jinja": "file\n"]) == "file\n")
        let named = "{\"chat_template\": [{\"name\": \"tool_use\", \"template\": \"t\"}, {\"name\": \"default\", \"template\": \"d\"}]}"
        #expect(try template(["tokenizer_config.json": named]) == "d")
        let unclear = try Self.convert("mistral", files: ["tokenizer_config.json": named.replacingOccurrences(of: "default", with: "rag")])
        #expect(unclear.description.chatTemplate == nil)
        #expect(unclear.warnings.contains { $0.contains("tool_use, rag") })
        let broken = try Self.convert("mistral", files: ["chat_template.jinja": "{% for %}"])
        #expect(broken.description.chatTemplate == nil)
        #expect(broken.warnings.contains { $0.contains("the chat template cannot be used") })
        #expect(throws: ConversionError.self) { try template(["tokenizer_config.json": "{\"chat_template\": 5}"]) }
    }

    @Test(.needsFixture("decoders")) func modelsThatSeeImagesTellTheirTokensOutside() throws {
        let model = try Self.convert("gemma3-multimodal")
        #expect(model.description.task == .generation)
        #expect(model.description.generation?.endTokens == [2, 5])
        #expect(model.description.generation?.beginToken == 1)
    }

    @Test(.needsFixture("decoders")) func encoderWithDecoder() throws {
        let model = try Self.convert("t5-gated")
        #expect(model.description.task == .sequenceToSequence)
        #expect(model.description.generation?.decoderStartToken == 0)
        #expect(model.description.generation?.endTokens == [1])
        #expect(model.description.maximumLength == nil)
    }

    @Test(.needsFixture("decoders")) func theTaskMayBeAskedFor() throws {
        let model = try Self.convert("llama3") { $0.task = .embedding }
        #expect(model.description.task == .embedding)
        #expect(model.description.output == "last_hidden_state")
        #expect(model.description.generation == nil)
        // Without a class name the configuration does not say what is meant.
        let folder = Fixtures.unpacked("decoders").appendingPathComponent("llama-base")
        var options = ConversionOptions()
        options.task = .generation
        let issues = try ModelConverter(folder, options: options).check()
        #expect(issues.contains { $0.contains("lacks the tensors \"lm_head.weight\"") }, "\(issues)")
        options.task = .classification
        #expect(try ModelConverter(folder, options: options).check().contains { $0.contains("has no head sequence-classification") })
    }

    @Test(.needsFixture("decoders")) func aLongerContextMustBeAskedFor() throws {
        #expect(try Self.convert("phi3-long").description.generation?.contextLength == 16)
        #expect(try Self.convert("phi3-long") { $0.maximumLength = 50 }.description.generation?.contextLength == 50)
        #expect { _ = try Self.convert("phi3-long") { $0.maximumLength = 65 } } throws: { "\($0)".contains("65") }
    }
}
