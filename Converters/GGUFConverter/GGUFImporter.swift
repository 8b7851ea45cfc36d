import Architectures
import Foundation
import GraphIR
import JSON
import Tensors

/// A GGUF file as a graph, and what goes with it.
public struct GGUFConversion: Sendable {
    /// Inputs `input_ids` and `attention_mask`, i64 `[batch, sequence]`; output `logits [batch, sequence, vocabulary]`. Weights are those of the
    /// mapped file, in its blocks.
    public let graph: Graph
    public let configuration: ModelConfiguration
    /// For what its metadata say beside the arithmetic: tokenizer, chat template, sampling.
    public let file: GGUFFile
    public let warnings: [String]
}

/// Everything that stands in the way of converting a GGUF file.
public struct GGUFConversionError: Error, Sendable, Hashable, CustomStringConvertible {
    /// At least one.
    public let issues: [CheckpointIssue]

    public var description: String { issues.map(\.description).joined(separator: "; ") }
}

/// Converts GGUF files of language models.
public struct GGUFImporter {
    /// The values of `general.architecture` that convert.
    public static var architectures: [String] { GGUFArchitecture.all.map(\.name) }

    /// Reads a file and builds its graph.
    ///
    /// - Parameter length: The context that is wanted, in tokens, where the model's arithmetic depends on it; nil: the one that it was trained for.
    /// - Throws: `GGUFConversionError` with everything that does not fit, `FileError` and `GGUFError` for a file that cannot be read.
    public static func convert(_ url: URL, length: Int? = nil) throws -> GGUFConversion {
        let (conversion, issues) = try build(GGUFFile(contentsOf: url), length: length)
        guard issues.isEmpty, let conversion else { throw GGUFConversionError(issues: issues) }
        return conversion
    }

    /// Everything that stands in the way of `convert`; empty where nothing does.
    ///
    /// - Throws: `FileError` and `GGUFError` for a file that cannot be read.
    public static func check(_ url: URL) throws -> [CheckpointIssue] { try build(GGUFFile(contentsOf: url), length: nil).issues }

    static func build(_ file: GGUFFile, length: Int?) throws -> (conversion: GGUFConversion?, issues: [CheckpointIssue]) {
        let path = file.path
        let known = architectures.joined(separator: ", ")
        guard let name = file.value("general.architecture")?.stringValue else {
            return (nil, [CheckpointIssue(.configuration, path: path, "general.architecture is missing or no string, known are \(known)")])
        }
        var issues = tensorIssues(file)
        guard let architecture = GGUFArchitecture.all.first(where: { $0.name == name }) else {
            issues.append(CheckpointIssue(.unsupported, path: path, "general.architecture is \(quoted(name)), known are \(known)"))
            return (nil, issues)
        }
        let configuration = GGUFConfiguration(file, architecture)
        issues += configuration.issues
        // Without the required keys every tensor would be of the wrong shape.
        guard configuration.issues.isEmpty else { return (nil, issues) }
        var reader: ConfigurationReader
        let model: KnownArchitecture
        do {
            reader = try ConfigurationReader(configuration.json, path: path)
            reader.requestedLength = length
            model = try KnownArchitecture(reading: &reader, head: .causalLanguageModel)
        } catch let issue as CheckpointIssue {
            return (nil, issues + [issue])
        }
        issues += reader.issues
        guard issues.isEmpty else { return (nil, issues) }

        let built = try model.build(GGUFWeights(file, architecture), path: path)
        issues += built.weights.issues
        guard issues.isEmpty else { return (nil, issues) }
        var warnings = built.weights.warnings
        let unused = built.weights.unusedTensors
        if !unused.isEmpty { warnings.append("\(path): tensors that nothing uses: \(unused.joined(separator: ", "))") }
        return (GGUFConversion(graph: built.graph, configuration: model.configuration, file: file, warnings: warnings), issues)
    }

    /// Tensors of types that are not read, by type.
    private static func tensorIssues(_ file: GGUFFile) -> [CheckpointIssue] {
        let unread = Dictionary(grouping: file.tensors.filter { $0.type.dtype == nil }, by: \.type)
        return unread.sorted { $0.key.code < $1.key.code }.map { type, tensors in
            let names = tensors.prefix(4).map { quoted($0.name) }.joined(separator: ", ") + (tensors.count > 4 ? " and \(tensors.count - 4) more" : "")
            let count = tensors.count == 1 ? "1 tensor is" : "\(tensors.count) tensors are"
            return CheckpointIssue(
                .tensorType, path: file.path, "\(count) stored as \(type), read are \(GGUFTensorType.readable): \(names)")
        }
    }
}
