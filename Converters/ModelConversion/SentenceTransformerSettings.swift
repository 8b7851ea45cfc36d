import Foundation
import GraphFile
import JSON
import Tensors

/// What a sentence-transformers folder says of itself: modules.json, the pooling module's config.json, sentence_bert_config.json,
/// config_sentence_transformers.json.
struct SentenceTransformerSettings: Sendable {
    var pooling: ModelDescription.Pooling?
    var normalizes = false
    var maximumLength: Int?
    var prompts: [ModelDescription.Prompt] = []
    /// The files read, for the provenance.
    var files: [URL] = []

    /// nil where the folder is no sentence-transformers model.
    ///
    /// - Throws: `ConversionError` for a module that has no counterpart here, or a damaged file.
    init?(_ source: ModelSource) throws {
        guard let modulesURL = source.sideFile("modules.json") else { return nil }
        let folder = modulesURL.deletingLastPathComponent()
        files.append(modulesURL)
        guard let modules = try JSONFile.read(modulesURL).arrayValue else {
            throw ConversionError("\(modulesURL.path): expected an array of modules")
        }
        for module in modules {
            guard let type = module["type"]?.stringValue else { throw ConversionError("\(modulesURL.path): a module has no type") }
            let path = module["path"]?.stringValue ?? ""
            switch type.split(separator: ".").last {
            case "Transformer": break
            case "Normalize": normalizes = true
            case "Dropout": break
            case "Pooling":
                guard !path.split(separator: "/").contains(".."), !path.hasPrefix("/") else {
                    throw ConversionError("\(modulesURL.path): the path '\(path)' leaves the folder")
                }
                let url = folder.appendingPathComponent(path).appendingPathComponent("config.json")
                files.append(url)
                pooling = try Self.pooling(JSONFile.read(url), url)
            default:
                throw ConversionError("\(modulesURL.path): the module '\(type)' is not supported (Transformer, Pooling, Normalize and Dropout are)")
            }
        }
        if let url = source.sideFile("sentence_bert_config.json") {
            files.append(url)
            maximumLength = try JSONFile.read(url)["max_seq_length"]?.intValue
        }
        if let url = source.sideFile("config_sentence_transformers.json") {
            files.append(url)
            prompts = try (JSONFile.read(url)["prompts"]?.members ?? []).compactMap { member in
                member.value.stringValue.map { ModelDescription.Prompt(name: member.key, text: $0) }
            }
        }
    }

    private static func pooling(_ config: JSONValue, _ url: URL) throws -> ModelDescription.Pooling {
        let modes: [(String, ModelDescription.Pooling)] = [
            ("pooling_mode_cls_token", .cls), ("pooling_mode_mean_tokens", .mean), ("pooling_mode_max_tokens", .max),
            ("pooling_mode_mean_sqrt_len_tokens", .meanSqrtLength), ("pooling_mode_weightedmean_tokens", .weightedMean),
            ("pooling_mode_lasttoken", .lastToken),
        ]
        let chosen = modes.filter { config[$0.0]?.boolValue == true }
        guard chosen.count == 1 else {
            let names = chosen.map(\.0).joined(separator: ", ")
            throw ConversionError("\(url.path): \(chosen.isEmpty ? "no pooling mode is on" : "several pooling modes are on (\(names)), which would be joined; one is supported")")
        }
        return chosen[0].1
    }
}

/// A small JSON file with errors that name it.
enum JSONFile {
    static func read(_ url: URL) throws -> JSONValue {
        let storage = try Storage(mapping: url)
        do {
            return try storage.withUnsafeBytes { try JSONParser.parse($0) }
        } catch let error as JSONError {
            throw ConversionError("\(url.path): \(error)")
        }
    }
}
