import Foundation
import Tensors

/// The side files of a model: finds, checks and maps them.
///
/// A location is a path relative to the model's folder and must stay inside it. A model file that is a symlink (as in the Hugging Face
/// cache, where a snapshot links to blobs) may also use the folder where the file really lies; a side file that is itself a link
/// must lead into one of the two.
struct ExternalData {
    let modelPath: String
    private let folders: [URL]
    private var opened: [ExactName: Storage] = [:]
    /// Locations in order of appearance.
    private(set) var locations: [String] = []

    init(model url: URL) {
        modelPath = url.path
        let folder = url.deletingLastPathComponent()
        let target = url.resolvingSymlinksInPath().deletingLastPathComponent()
        folders = Self.realPath(folder) == Self.realPath(target) ? [folder] : [folder, target]
    }

    /// The bytes of a side file.
    mutating func storage(_ location: String, tensor: String) throws -> Storage {
        let key = ExactName(location)
        if let known = opened[key] { return known }
        if !locations.contains(where: { ExactName($0) == key }) { locations.append(location) }
        let parts = location.split(separator: "/", omittingEmptySubsequences: true)
        guard !location.isEmpty, !location.hasPrefix("/"), !parts.contains(".."), !location.utf8.contains(0) else {
            throw ONNXError(
                .invalidExternalPath, path: modelPath,
                "tensor \"\(tensor)\" is stored in \"\(location)\", which is not a path inside the model's folder")
        }
        for folder in folders {
            let candidate = folder.appendingPathComponent(location)
            guard let real = Self.realPath(candidate) else { continue }
            guard folders.compactMap(Self.realPath).contains(where: { real.hasPrefix($0.hasSuffix("/") ? $0 : $0 + "/") }) else {
                throw ONNXError(
                    .invalidExternalPath, path: modelPath,
                    "tensor \"\(tensor)\" is stored in \"\(location)\", which links to \(real), outside the model's folder")
            }
            do {
                let storage = try Storage(mapping: URL(fileURLWithPath: real))
                opened[key] = storage
                return storage
            } catch {
                throw ONNXError(.missingExternalData, path: modelPath, "tensor \"\(tensor)\" is stored in \(error)")
            }
        }
        throw ONNXError(
            .missingExternalData, path: modelPath,
            "tensor \"\(tensor)\" is stored in the side file \"\(location)\", which does not exist beside the model")
    }

    /// The path without links; nil where nothing is there.
    private static func realPath(_ url: URL) -> String? {
        guard let resolved = realpath(url.path, nil) else { return nil }
        defer { free(resolved) }
        return String(validatingCString: resolved)
    }
}
