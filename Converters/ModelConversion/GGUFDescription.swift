import ChatTemplates
import GGUFConverter
import GraphFile

/// What a GGUF file says beside the arithmetic: chat template, special tokens, sampling.
enum GGUFDescription {
    /// - Throws: `GGUFError` for keys whose values cannot be.
    static func describe(_ conversion: GGUFConversion) throws -> (description: ModelDescription, warnings: [String]) {
        let file = conversion.file
        var warnings: [String] = []
        var description = ModelDescription(task: .generation)
        description.architecture = conversion.configuration.modelType
        description.output = "logits"
        if let template = try value("tokenizer.chat_template", "a string", file, \.stringValue) {
            do {
                _ = try ChatTemplate(template)
                description.chatTemplate = template
            } catch {
                warnings.append("\(file.path): the chat template cannot be used: \(error)")
            }
        }
        var settings = GenerationSettings()
        settings.contextLength = conversion.configuration.maximumPositions
        func token(_ name: String) throws -> Int? {
            let key = "tokenizer.ggml.\(name)_token_id"
            guard let id = try value(key, "a token id", file, \.intValue) else { return nil }
            guard (0..<conversion.configuration.vocabularySize).contains(id) else {
                // Some files have -1 or the size of another vocabulary for a token that there is none of.
                warnings.append("\(file.path): \(key) is \(id), outside the vocabulary of \(conversion.configuration.vocabularySize); it is left out")
                return nil
            }
            return id
        }
        settings.beginToken = try token("bos")
        settings.paddingToken = try token("padding")
        for name in ["eos", "eot", "eom"] {
            if let id = try token(name), !settings.endTokens.contains(id) { settings.endTokens.append(id) }
        }
        func number(_ name: String) throws -> Float? {
            try value("general.sampling.\(name)", "a number of at least 0", file) { value in
                value.doubleValue.flatMap { $0.isFinite && $0 >= 0 ? Float($0) : nil }
            }
        }
        settings.temperature = try number("temp")
        settings.topK = try value("general.sampling.top_k", "a whole number of at least 0", file) { $0.intValue.flatMap { $0 >= 0 ? $0 : nil } }
        settings.topP = try number("top_p")
        settings.minP = try number("min_p")
        settings.repetitionPenalty = try number("penalty_repeat")
        settings.isSampled = (settings.temperature ?? 0) > 0
        description.generation = settings
        return (description, warnings)
    }

    private static func value<Result>(
        _ key: String, _ expected: String, _ file: GGUFFile, _ convert: (GGUFValue) -> Result?
    ) throws -> Result? {
        guard let value = file.value(key) else { return nil }
        guard let result = convert(value) else {
            throw GGUFError(path: file.path, place: .key(key), reason: "is \(value.kindName), expected \(expected)")
        }
        return result
    }
}
