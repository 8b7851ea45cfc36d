import Foundation
import GGUFConverter
import Tensors

/// What a path holds: which importer reads it, and where its side files lie.
public struct ModelSource: Sendable {
    public enum Format: String, Sendable, Hashable { case onnx, safetensors, gguf, graph }
    public let format: Format
    /// The model file, or the folder of a checkpoint.
    public let url: URL
    /// Folders to look for side files in, nearest first.
    public let sideFolders: [URL]

    /// - Throws: `FileError` or `ConversionError` where the path holds no model.
    public init(_ url: URL) throws {
        var isFolder: ObjCBool = false
        guard FileManager.default.fileExists(atPath: url.path, isDirectory: &isFolder) else {
            throw FileError(path: url.path, reason: "no such file or folder")
        }
        guard isFolder.boolValue else {
            try self.init(file: url)
            return
        }
        // A folder with one model under a name of its own.
        let models = (try? FileManager.default.contentsOfDirectory(atPath: url.path))?.filter(Self.isModel) ?? []
        if models.count == 1 && models[0] != "model.safetensors" {
            try self.init(file: url.appendingPathComponent(models[0]))
        } else {
            try self.init(folder: url)
        }
    }

    private init(file url: URL) throws {
        let name = url.lastPathComponent
        let folder = url.deletingLastPathComponent()
        // Repositories keep ONNX files in a folder of their own, with the configuration one level up.
        sideFolders = [folder, folder.deletingLastPathComponent()]
        self.url = url
        if name.hasSuffix(".onnx") {
            format = .onnx
        } else if name.hasSuffix(".gguf") {
            format = .gguf
        } else if name.hasSuffix(".safetensors") || name.hasSuffix(".safetensors.index.json") {
            format = .safetensors
        } else if name.hasSuffix(".graph") {
            format = .graph
        } else {
            format = try Self.sniff(url)
        }
    }

    private init(folder url: URL) throws {
        if ["model.safetensors", "model.safetensors.index.json"].contains(where: { Self.exists(url.appendingPathComponent($0)) }) {
            format = .safetensors
            self.url = url
            sideFolders = [url]
            return
        }
        for name in ["model.onnx", "onnx/model.onnx"] where Self.exists(url.appendingPathComponent(name)) {
            format = .onnx
            self.url = url.appendingPathComponent(name)
            sideFolders = [self.url.deletingLastPathComponent(), url]
            return
        }
        let found = (try? FileManager.default.contentsOfDirectory(atPath: url.path).sorted()) ?? []
        let models = found.filter(Self.isModel)
        let hint = models.isEmpty
            ? (found.contains { $0.hasSuffix(".bin") || $0.hasSuffix(".pt") || $0.hasSuffix(".pth") } ? "; PyTorch pickles are not read, save it as safetensors first" : "")
            : "; name one of \(models.prefix(8).joined(separator: ", "))"
        throw ConversionError("\(url.path) holds no model.safetensors, model.safetensors.index.json or model.onnx\(hint)")
    }

    private static func isModel(_ name: String) -> Bool { [".onnx", ".safetensors", ".gguf"].contains { name.hasSuffix($0) } }

    /// A file without a telling name: GGUF files begin with these letters, safetensors with a length and '{'.
    private static func sniff(_ url: URL) throws -> Format {
        let storage = try Storage(mapping: url)
        let start = storage.withUnsafeBytes { Array($0.prefix(9)) }
        if GGUFFile.isGGUF(start) { return .gguf }
        if start.count == 9, start[8] == UInt8(ascii: "{") { return .safetensors }
        // An ONNX file begins with field 1 (ir_version) as a varint.
        if start.count > 2, start[0] == 0x08, start[1] < 0x80 { return .onnx }
        throw ConversionError("\(url.path) is neither ONNX nor safetensors nor GGUF, by its name and first bytes")
    }

    private static func exists(_ url: URL) -> Bool { FileManager.default.fileExists(atPath: url.path) }

    /// The nearest side file of that name.
    public func sideFile(_ name: String) -> URL? {
        sideFolders.map { $0.appendingPathComponent(name) }.first { Self.exists($0) }
    }
}
