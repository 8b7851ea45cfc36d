import Foundation
import JSON
import Tensors

/// The models that the project knows by name: what is installed, where, and how the others are had.
///
/// Models are looked for in these folders, first match wins: `$MLGRAPH_MODELS`, `Models` beside the program or in a folder above it (a
/// checkout), `share/mlgraph/models` beside the program's `bin`, and `${XDG_DATA_HOME:-~/.local/share}/mlgraph/models`.
public struct ModelCatalogue: Sendable {
    public struct Entry: Sendable, Hashable {
        public let name: String
        public let summary: String
        /// `classification`, `embedding`, ...
        public let task: String
        public let license: String
        /// The graph's place inside a models folder.
        public let graph: String
        /// The package that holds the model, and its version; nil where the project ships it.
        public let package: Package?
        /// The installed file.
        public let url: URL?
    }

    public struct Package: Sendable, Hashable {
        public let name: String
        public let version: String
        public let sha256: String
    }

    public let entries: [Entry]
    /// Where models are looked for, whether the folder exists or not.
    public let folders: [URL]

    /// Reads the catalogue of the first folder that has one.
    ///
    /// - Throws: `FileError` where a catalogue is damaged. Without any the catalogue is empty.
    public init(folders: [URL] = ModelCatalogue.defaultFolders()) throws {
        self.folders = folders
        guard let file = folders.map({ $0.appendingPathComponent("catalogue.json") }).first(where: { Self.exists($0) }) else {
            entries = []
            return
        }
        func damaged(_ reason: String) -> FileError { FileError(path: file.path, reason: reason) }
        let json: JSONValue
        do { json = try Storage(mapping: file).withUnsafeBytes { try JSONParser.parse($0) } } catch let error as JSONError { throw damaged("\(error)") }
        entries = try (json["models"]?.arrayValue ?? []).map { value in
            guard let name = value["name"]?.stringValue, let graph = value["graph"]?.stringValue, let task = value["task"]?.stringValue else {
                throw damaged("an entry lacks name, task or graph")
            }
            let package = value["package"].flatMap { package -> Package? in
                guard let name = package["name"]?.stringValue, let version = package["version"]?.stringValue,
                    let hash = package["sha256"]?.stringValue
                else { return nil }
                return Package(name: name, version: version, sha256: hash)
            }
            let url = folders.flatMap { [$0.appendingPathComponent(graph), $0.appendingPathComponent("\(name).graph")] }.first { Self.exists($0) }
            return Entry(
                name: name, summary: value["summary"]?.stringValue ?? "", task: task, license: value["license"]?.stringValue ?? "",
                graph: graph, package: package, url: url)
        }
    }

    /// A path to a `.graph` file, the name of an installed model, or the name of a `.graph` file in one of the folders.
    ///
    /// - Throws: `TaskError` that says how to get a model that is known but not installed, or lists the known ones.
    public func locate(_ nameOrPath: String) throws -> URL {
        if let entry = entries.first(where: { $0.name == nameOrPath }) {
            guard let url = entry.url else {
                throw TaskError(.modelNotFound, "model '\(nameOrPath)' is not installed; 'make models' fetches and converts it")
            }
            return url
        }
        // A path, or a graph that the user has put into a models folder under a name of their own.
        let candidates = [URL(fileURLWithPath: nameOrPath)] + (nameOrPath.contains("/") ? [] : folders.map { $0.appendingPathComponent("\(nameOrPath).graph") })
        if let url = candidates.first(where: { Self.exists($0) }) { return url }
        let known = entries.isEmpty ? "no catalogue was found" : "the catalogue has \(entries.map(\.name).joined(separator: ", "))"
        throw TaskError(.modelNotFound, "there is no file '\(nameOrPath)' and no model of that name (\(known))")
    }

    /// The installed model that answers a task when the user names none.
    public func locateDefault(forTask task: String) throws -> URL {
        let candidates = entries.filter { $0.task == task }
        if let url = candidates.lazy.compactMap(\.url).first { return url }
        guard let first = candidates.first else {
            throw TaskError(.modelNotFound, "no default model for \(task) was found in \(folders.map(\.path).joined(separator: ", ")); name one with -m")
        }
        throw TaskError(.modelNotFound, "the default model '\(first.name)' for \(task) is not installed; 'make models' fetches and converts it, or name another with -m")
    }

    public static func defaultFolders(environment: [String: String] = ProcessInfo.processInfo.environment) -> [URL] {
        var folders: [URL] = []
        if let path = environment["MLGRAPH_MODELS"], !path.isEmpty { folders.append(URL(fileURLWithPath: path)) }
        if let executable = Bundle.main.executableURL?.resolvingSymlinksInPath() {
            var folder = executable.deletingLastPathComponent()
            folders.append(folder.deletingLastPathComponent().appendingPathComponent("share/mlgraph/models"))
            for _ in 0..<6 {
                let models = folder.appendingPathComponent("Models")
                if exists(models.appendingPathComponent("catalogue.json")) {
                    folders.append(models)
                    break
                }
                folder = folder.deletingLastPathComponent()
            }
        }
        let data = environment["XDG_DATA_HOME"].flatMap { $0.isEmpty ? nil : $0 }
            ?? (environment["HOME"] ?? NSHomeDirectory()) + "/.local/share"
        folders.append(URL(fileURLWithPath: data).appendingPathComponent("mlgraph/models"))
        return folders
    }

    private static func exists(_ url: URL) -> Bool { FileManager.default.fileExists(atPath: url.path) }
}
