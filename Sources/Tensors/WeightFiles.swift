import Foundation
import JSON

/// The tensors of a checkpoint by name, whether they lie in one safetensors file or in several.
public struct WeightFiles: Sendable {
    /// All tensors: of one file in its order, of a sharded checkpoint in the order of its index.
    public let names: [String]
    public let files: [SafetensorsFile]
    private let fileOfTensor: [ExactName: Int]
    private let path: String

    /// Opens a `.safetensors` file, a `.safetensors.index.json` with all its shards, or a folder that holds `model.safetensors` or
    /// `model.safetensors.index.json`.
    ///
    /// Tensors of a shard that the index does not list are left out.
    ///
    /// - Throws: `FileError` for what cannot be read; `SafetensorsError` for a malformed file, a missing shard, or a tensor that its
    ///   shard does not hold.
    public init(contentsOf url: URL) throws {
        let url = try Self.file(at: url)
        path = url.path
        guard url.pathExtension.lowercased() == "json" else {
            let file = try SafetensorsFile(contentsOf: url)
            files = [file]
            names = file.entries.map(\.name)
            fileOfTensor = Dictionary(uniqueKeysWithValues: names.map { (ExactName($0), 0) })
            return
        }
        let index = try SafetensorsIndex(contentsOf: url)
        let folder = url.deletingLastPathComponent()
        var files: [SafetensorsFile] = []
        var numbers: [ExactName: Int] = [:]
        var fileOfTensor: [ExactName: Int] = [:]
        for (tensor, shard) in index.weightMap {
            let number: Int
            if let known = numbers[ExactName(shard)] {
                number = known
            } else {
                let shardURL = folder.appendingPathComponent(shard)
                guard FileManager.default.fileExists(atPath: shardURL.path) else {
                    throw SafetensorsError(
                        path: index.path, place: .tensor(tensor),
                        reason: "its shard \(JSONValue.string(shard).text) is missing from the folder")
                }
                number = files.count
                files.append(try SafetensorsFile(contentsOf: shardURL))
                numbers[ExactName(shard)] = number
            }
            guard files[number].entry(named: tensor) != nil else {
                throw SafetensorsError(
                    path: index.path, place: .tensor(tensor), reason: "is not in its shard \(JSONValue.string(shard).text)")
            }
            fileOfTensor[ExactName(tensor)] = number
        }
        self.files = files
        self.names = index.weightMap.map(\.tensor)
        self.fileOfTensor = fileOfTensor
    }

    private static func file(at url: URL) throws -> URL {
        var isFolder: ObjCBool = false
        guard FileManager.default.fileExists(atPath: url.path, isDirectory: &isFolder), isFolder.boolValue else { return url }
        let candidates = ["model.safetensors", "model.safetensors.index.json"].map(url.appendingPathComponent)
        guard let found = candidates.first(where: { FileManager.default.fileExists(atPath: $0.path) }) else {
            throw FileError(path: url.path, reason: "the folder has neither model.safetensors nor model.safetensors.index.json")
        }
        return found
    }

    /// The tensor's description; nil where there is no tensor of that name.
    public func entry(named name: String) -> SafetensorsEntry? {
        fileOfTensor[ExactName(name)].flatMap { files[$0].entry(named: name) }
    }

    /// - Throws: `SafetensorsError` when there is no such tensor.
    public func tensor(named name: String) throws -> Tensor {
        guard let number = fileOfTensor[ExactName(name)] else {
            throw SafetensorsError(path: path, place: .tensor(name), reason: "does not exist; there are \(names.count) tensors")
        }
        return try files[number].tensor(named: name)
    }
}
