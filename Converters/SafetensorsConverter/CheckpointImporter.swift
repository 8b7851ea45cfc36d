import Architectures
import Foundation
import GraphIR
import JSON
import Tensors

/// Converts Hugging Face checkpoints: config.json with `model.safetensors` or its shards.
public struct CheckpointImporter {
    private let configurationFile: URL
    private let weightsURL: URL
    private let head: Head?
    private let length: Int?

    private init(_ url: URL, head: Head?, length: Int?) {
        var isFolder: ObjCBool = false
        let exists = FileManager.default.fileExists(atPath: url.path, isDirectory: &isFolder)
        let folder = exists && isFolder.boolValue ? url : url.deletingLastPathComponent()
        configurationFile = folder.appendingPathComponent("config.json")
        weightsURL = url
        self.head = head
        self.length = length
    }

    /// Reads a checkpoint and builds its graph.
    ///
    /// - Parameters:
    ///   - url: A folder, a `.safetensors` file or a `.safetensors.index.json`; config.json lies beside the weights.
    ///   - head: What to build on the model; nil: what `architectures` in config.json names.
    ///   - length: The context that is wanted, in tokens, where the model's arithmetic depends on it; nil: the one that it was trained for.
    /// - Throws: `CheckpointError` with everything that does not fit, `FileError` and `SafetensorsError` for files that cannot be read.
    public static func convert(folderOrFile url: URL, head: Head? = nil, length: Int? = nil) throws -> CheckpointConversion {
        let importer = CheckpointImporter(url, head: head, length: length)
        let (conversion, issues) = try importer.build()
        guard issues.isEmpty, let conversion else { throw CheckpointError(issues: issues) }
        return conversion
    }

    /// Everything that stands in the way of `convert`; empty where nothing does.
    ///
    /// - Throws: `FileError` and `SafetensorsError` for files that cannot be read.
    public static func check(folderOrFile url: URL, head: Head? = nil, length: Int? = nil) throws -> [CheckpointIssue] {
        try CheckpointImporter(url, head: head, length: length).build().issues
    }

    private func build() throws -> (conversion: CheckpointConversion?, issues: [CheckpointIssue]) {
        guard FileManager.default.fileExists(atPath: weightsURL.path) else {
            throw FileError(path: weightsURL.path, reason: "no such file or folder")
        }
        let path = configurationFile.path
        let architecture: KnownArchitecture
        var reader: ConfigurationReader
        do {
            reader = try ConfigurationReader(try Self.json(configurationFile), path: path)
            reader.requestedLength = length
            architecture = try KnownArchitecture(reading: &reader, head: head)
        } catch let issue as CheckpointIssue {
            return (nil, [issue])
        }
        guard reader.hasSizes else { return (nil, reader.issues) }

        let files = try WeightFiles(contentsOf: weightsURL)
        let built = try architecture.build(files, path: weightsURL.path)
        let issues = reader.issues + built.weights.issues
        guard issues.isEmpty else { return (nil, issues) }
        var warnings = built.weights.warnings
        if head == nil, architecture.configuration.architectures.isEmpty {
            warnings.append("\(path): architectures is missing, so the head \(architecture.configuration.head.rawValue) is taken")
        }
        let unused = built.weights.unusedTensors
        if !unused.isEmpty {
            warnings.append("\(weightsURL.path): tensors that nothing uses: \(unused.joined(separator: ", "))")
        }
        let sources = [configurationFile] + files.files.map { URL(fileURLWithPath: $0.path) }
        let conversion = CheckpointConversion(
            graph: built.graph, configuration: architecture.configuration, warnings: warnings, sourceFiles: sources)
        return (conversion, [])
    }

    private static func json(_ url: URL) throws -> JSONValue {
        let storage: Storage
        do {
            storage = try Storage(mapping: url)
        } catch let error as FileError {
            throw FileError(path: error.path, reason: "\(error.reason); a checkpoint needs its config.json beside the weights")
        }
        do {
            return try storage.withUnsafeBytes { try JSONParser.parse($0) }
        } catch let error as JSONError {
            throw FileError(path: url.path, reason: "\(error)")
        }
    }
}
