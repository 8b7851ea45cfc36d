import Foundation
import GraphIR
import JSON
import Operators
import Tensors

/// A model in one file: the graph, its weights, what it is for, where it comes from, and its tokenizer.
///
/// The file is mapped; weights and tokenizer are used from the mapping. Any safetensors reader can list its tensors.
public struct GraphFile: Sendable {
    public let path: String
    public let graph: Graph
    public let description: ModelDescription
    public let provenance: Provenance
    /// The bytes of the compiled tokenizer inside the mapped file; nil where there is none.
    public let tokenizer: (storage: Storage, range: Range<Int>)?

    /// A model that is in memory and in no file; `name` names it in errors.
    ///
    /// - Parameter tokenizer: Compiled.
    public init(graph: Graph, description: ModelDescription, provenance: Provenance, tokenizer: [UInt8]?, name: String) {
        path = name
        self.graph = graph
        self.description = description
        self.provenance = provenance
        self.tokenizer = tokenizer.map { bytes in
            (Storage(byteCount: bytes.count) { target in target.copyBytes(from: bytes) }, 0..<bytes.count)
        }
    }

    /// Opens a file, checks that no byte of it has changed since it was written, and verifies the graph.
    ///
    /// - Throws: `FileError` when it cannot be read; `GraphFileError` when it is no graph, of a newer version or damaged.
    public init(contentsOf url: URL) throws {
        try self.init(storage: Storage(mapping: url), path: url.path)
    }

    /// Reads a file that is in memory already; `path` names it in errors.
    public init(storage: Storage, path: String) throws {
        let file = try Self.open(storage, path)
        func damaged(_ text: String) -> GraphFileError { GraphFileError(.damaged, path, text) }
        func metadata(_ key: String) throws -> String {
            guard let text = file.metadata(key) else { throw damaged("its metadata have no '\(key)'; convert the model again") }
            return text
        }
        func json(_ key: String) throws -> JSONValue {
            do { return try JSONParser.parse(metadata(key)) } catch let error as JSONError { throw damaged("'\(key)': \(error)") }
        }
        guard file.metadata(GraphFileFormat.format) == GraphFileFormat.name, let version = try Int(metadata(GraphFileFormat.formatVersion)) else {
            throw GraphFileError(.notAGraph, path, "is not a graph file of this toolkit")
        }
        guard version <= GraphFileFormat.version else {
            throw GraphFileError(
                .newerVersion, path,
                "has version \(version) of the graph format, this program reads up to \(GraphFileFormat.version): update it")
        }
        try Self.checkData(file, json(GraphFileFormat.checksums))
        let aliases = try json(GraphFileFormat.aliases)
        self.path = path
        do {
            description = try ModelDescription(json: json(GraphFileFormat.description))
            provenance = try Provenance(json: json(GraphFileFormat.provenance))
            let storedNames = Dictionary(aliases.members.map { (ExactName($0.key), $0.value.stringValue) }) { first, _ in first }
            graph = try Graph(parsing: metadata(GraphFileFormat.graph)) { name in
                try file.tensor(named: (storedNames[ExactName(name)] ?? nil) ?? name)
            }
        } catch let error as GraphFileError {
            throw error
        } catch {
            throw damaged("\(error)")
        }
        tokenizer = file.entry(named: GraphFileFormat.tokenizer).map { (storage, $0.bytes) }
    }

    // MARK: Checks

    /// The file behind a header that is as it was written.
    private static func open(_ storage: Storage, _ path: String) throws -> SafetensorsFile {
        let bytes = storage.bytes
        let start = 8 + GraphFileFormat.headerStart.utf8.count
        let end = start + GraphFileFormat.unsealed.utf8.count
        guard bytes.count >= end, bytes[8..<start].elementsEqual(GraphFileFormat.headerStart.utf8) else {
            throw foreign(storage, path)
        }
        let field = UInt64(littleEndian: bytes.loadUnaligned(as: UInt64.self))
        guard let length = Int(exactly: field), length <= bytes.count - 8 else {
            throw GraphFileError(
                .damaged, path, "its header should have \(field) bytes, \(bytes.count - 8) are there: it is cut off or damaged")
        }
        guard 8 + length >= end,
            bytes[start..<end].elementsEqual(Checksum(UnsafeRawBufferPointer(rebasing: bytes[end..<8 + length])).text.utf8)
        else { throw GraphFileError(.damaged, path, "the header is damaged (its checksum differs)") }
        do {
            return try SafetensorsFile(storage: storage, path: path)
        } catch {
            throw GraphFileError(.damaged, path, "is cut off or damaged: \(error)")
        }
    }

    /// What a file is that has not the header of a graph file.
    private static func foreign(_ storage: Storage, _ path: String) -> GraphFileError {
        let bytes = storage.bytes
        if bytes.isEmpty { return GraphFileError(.notAGraph, path, "is empty") }
        if bytes.starts(with: "graph \"".utf8) {
            return GraphFileError(.notAGraph, path, "is the text of a graph, without weights; give the .graph file")
        }
        if bytes.first == UInt8(ascii: "{") { return GraphFileError(.notAGraph, path, "is a JSON file, not a graph file") }
        do {
            let file = try SafetensorsFile(storage: storage, path: path)
            if file.metadata(GraphFileFormat.format) == GraphFileFormat.name {
                return GraphFileError(.damaged, path, "another program has rewritten its header; convert the model again")
            }
            return GraphFileError(
                .notAGraph, path, "is a safetensors file with \(file.entries.count) tensors and no graph; convert it with mlconv first")
        } catch {
            // An ONNX file starts with its IR version, a field of protobuf, and goes on with a field of the model.
            if bytes.count > 2, bytes[0] == 0x08, bytes[1] < 0x20, bytes[2] & 7 == 2 || bytes[2] & 7 == 0 {
                return GraphFileError(.notAGraph, path, "seems to be an ONNX model; convert it with mlconv first")
            }
            return GraphFileError(.notAGraph, path, "is not a graph file (\(error))")
        }
    }

    private static func checkData(_ file: SafetensorsFile, _ checksums: JSONValue) throws {
        let expected = Dictionary(checksums.members.map { (ExactName($0.key), $0.value.stringValue) }) { first, _ in first }
        for entry in file.entries {
            let found = Checksum(UnsafeRawBufferPointer(rebasing: file.storage.bytes[entry.bytes])).text
            guard expected[ExactName(entry.name)] == found else {
                throw GraphFileError(
                    .damaged, file.path, "the data of tensor \(JSONValue.string(entry.name).text) are damaged (their checksum differs)")
            }
        }
    }
}
