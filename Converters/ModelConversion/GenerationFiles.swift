import ChatTemplates
import Foundation
import GraphFile
import JSON
import Tensors

/// What the files beside a language model say of generation: config.json, generation_config.json, and the chat template in its several places.
struct GenerationFiles {
    var settings = GenerationSettings()
    var chatTemplate: String?
    /// The files read, for the provenance.
    private(set) var files: [URL] = []
    private(set) var warnings: [String] = []

    /// - Throws: `ConversionError` for a value that cannot be, and for a damaged file.
    init(_ source: ModelSource) throws {
        if let url = source.sideFile("config.json") {
            let configuration = try JSONFile.read(url)
            // A model that also sees images keeps its text part inside, the special tokens of the whole outside.
            if let text = configuration["text_config"] { try readTokens(text, url) }
            try readTokens(configuration, url)
        }
        if let url = source.sideFile("generation_config.json") {
            let configuration = try JSONFile.read(url)
            files.append(url)
            try readTokens(configuration, url)
            try readSampling(configuration, url)
        }
        if settings.endTokens.isEmpty {
            warnings.append("\(source.url.path): neither config.json nor generation_config.json names the token that ends a text (eos_token_id)")
        }
        try readChatTemplate(source)
    }

    private mutating func readTokens(_ configuration: JSONValue, _ url: URL) throws {
        func token(_ key: String, _ value: JSONValue) throws -> Int {
            guard let id = value.intValue, id >= 0 else { throw ConversionError("\(url.path): \(key) is \(value.text), expected a token id") }
            return id
        }
        func single(_ key: String) throws -> Int? {
            guard let value = configuration[key], !value.isNull else { return nil }
            // What -1 stands for in old configurations.
            if value.intValue == -1 { return nil }
            return try token(key, value)
        }
        if let value = configuration["eos_token_id"], !value.isNull, value.intValue != -1 {
            settings.endTokens = try (value.arrayValue ?? [value]).map { try token("eos_token_id", $0) }
        }
        settings.beginToken = try single("bos_token_id") ?? settings.beginToken
        settings.paddingToken = try single("pad_token_id") ?? settings.paddingToken
        settings.decoderStartToken = try single("decoder_start_token_id") ?? settings.decoderStartToken
    }

    private mutating func readSampling(_ configuration: JSONValue, _ url: URL) throws {
        func value<Result>(_ key: String, _ kind: String, _ convert: (JSONValue) -> Result?) throws -> Result? {
            guard let value = configuration[key], !value.isNull else { return nil }
            guard let result = convert(value) else { throw ConversionError("\(url.path): \(key) is \(value.text), expected \(kind)") }
            return result
        }
        func number(_ key: String, _ range: ClosedRange<Double>, _ kind: String) throws -> Float? {
            try value(key, kind) { $0.doubleValue.flatMap { range.contains($0) ? Float($0) : nil } }
        }
        settings.isSampled = try value("do_sample", "true or false", \.boolValue) ?? false
        settings.temperature = try number("temperature", 0...1e6, "a number of at least 0")
        settings.topK = try value("top_k", "a whole number of at least 0") { $0.intValue.flatMap { $0 >= 0 ? $0 : nil } }
        settings.topP = try number("top_p", 0...1, "a number from 0 to 1")
        settings.minP = try number("min_p", 0...1, "a number from 0 to 1")
        settings.repetitionPenalty = try number("repetition_penalty", 1e-6...1e6, "a number above 0")
        settings.maximumNewTokens = try value("max_new_tokens", "a positive whole number") { $0.intValue.flatMap { $0 > 0 ? $0 : nil } }
        // Where the file says nothing, the reference implementation draws from the 50 most likely tokens.
        if settings.isSampled, settings.topK == nil { settings.topK = 50 }
        let ignored = configuration.members.filter { Self.changesAnswers($0) }.map(\.key)
        if !ignored.isEmpty { warnings.append("\(url.path): \(ignored.joined(separator: ", ")) would change what is generated and is not supported") }
    }

    /// Settings of the reference implementation that have no place here, with the number that switches them off.
    private static let unknownSettings: [(key: String, neutral: Double)] = [
        ("num_beams", 1), ("num_beam_groups", 1), ("typical_p", 1), ("epsilon_cutoff", 0), ("eta_cutoff", 0), ("top_h", 0), ("penalty_alpha", 0),
        ("encoder_repetition_penalty", 1), ("no_repeat_ngram_size", 0), ("encoder_no_repeat_ngram_size", 0), ("diversity_penalty", 0),
        ("guidance_scale", 1), ("min_length", 0), ("min_new_tokens", 0), ("exponential_decay_length_penalty", 0), ("bad_words_ids", 0),
        ("force_words_ids", 0), ("forced_bos_token_id", -1), ("forced_eos_token_id", -1), ("suppress_tokens", -1), ("begin_suppress_tokens", -1),
        ("sequence_bias", 0), ("stop_strings", 0), ("dola_layers", 0), ("constraints", 0),
    ]

    private static func changesAnswers(_ member: JSONMember) -> Bool {
        guard let setting = unknownSettings.first(where: { $0.key.utf8.elementsEqual(member.key.utf8) }) else { return false }
        switch member.value {
        case .null: return false
        case .bool(let flag): return flag
        case .array(let elements): return !elements.isEmpty
        case .object(let members): return !members.isEmpty
        default: return member.value.doubleValue != setting.neutral
        }
    }

    // MARK: Chat template

    /// In the order in which the reference implementation looks: a file of its own, the JSON that processors write, the tokenizer's settings.
    private mutating func readChatTemplate(_ source: ModelSource) throws {
        if let url = source.sideFile("chat_template.jinja") {
            files.append(url)
            let storage = try Storage(mapping: url)
            guard let text = storage.withUnsafeBytes({ String(validating: $0, as: UTF8.self) }) else {
                throw ConversionError("\(url.path) is not valid UTF-8")
            }
            chatTemplate = text
        } else {
            for name in ["chat_template.json", "tokenizer_config.json"] where chatTemplate == nil {
                guard let url = source.sideFile(name), let value = try JSONFile.read(url)["chat_template"], !value.isNull else { continue }
                if !files.contains(url) { files.append(url) }
                chatTemplate = try template(value, url)
            }
        }
        guard let chatTemplate else { return }
        do {
            _ = try ChatTemplate(chatTemplate)
        } catch {
            warnings.append("\(source.url.path): the chat template cannot be used: \(error)")
            self.chatTemplate = nil
        }
    }

    /// A text, or a list of named texts of which "default" is meant for chats.
    private mutating func template(_ value: JSONValue, _ url: URL) throws -> String? {
        if let text = value.stringValue { return text }
        let named = (value.arrayValue ?? []).compactMap { entry in
            entry["name"]?.stringValue.flatMap { name in entry["template"]?.stringValue.map { (name: name, text: $0) } }
        }
        guard let entries = value.arrayValue, named.count == entries.count, !named.isEmpty else {
            throw ConversionError("\(url.path): chat_template is \(value.kindName), expected a text or a list of objects with 'name' and 'template'")
        }
        if let text = named.first(where: { $0.name == "default" })?.text ?? (named.count == 1 ? named[0].text : nil) { return text }
        let names = named.map(\.name).joined(separator: ", ")
        warnings.append("\(url.path): none of the chat templates \(names) is called default, so none is taken")
        return nil
    }
}
