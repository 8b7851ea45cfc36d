import Foundation
import GraphIR
import JSON
import Operators
import Tensors

extension GraphFile {
    /// Writes a `.graph` file, whole or not at all. Equal arguments give equal bytes. Constants of equal contents are stored once.
    ///
    /// - Parameter tokenizer: The compiled tokenizer.
    /// - Throws: `GraphFileError` for a graph that could not be read back; `FileError` when the file cannot be written.
    public static func write(
        graph: Graph, description: ModelDescription, provenance: Provenance, tokenizer: [UInt8]? = nil, to url: URL
    ) throws {
        let text = graph.text
        var contents = StoredTensors()
        for id in graph.externalConstants {
            guard let tensor = graph.constant(id) else { continue }
            guard !graph[id].name.utf8.elementsEqual(GraphFileFormat.tokenizer.utf8) else {
                throw GraphFileError(.notStorable, url.path, "the graph has a constant with the reserved name \(GraphFileFormat.tokenizer)")
            }
            contents.addShared(graph[id].name, tensor)
        }
        try checkReadsBack(graph, text, path: url.path)
        if let tokenizer {
            contents.add(GraphFileFormat.tokenizer, try Tensor(elements: tokenizer, dtype: .u8, shape: [tokenizer.count]))
        }
        let metadata: [(String, String)] = [
            // First, so that its place in the file is known.
            (GraphFileFormat.headerChecksum, GraphFileFormat.unsealed),
            (GraphFileFormat.format, GraphFileFormat.name),
            (GraphFileFormat.formatVersion, String(GraphFileFormat.version)),
            (GraphFileFormat.description, description.json.text),
            (GraphFileFormat.provenance, provenance.json.text),
            (GraphFileFormat.graph, text),
            (GraphFileFormat.aliases, JSONValue.object(contents.aliases).text),
            (GraphFileFormat.checksums, JSONValue.object(contents.checksums).text),
        ]
        try SafetensorsWriter.write(
            contents.tensors, metadata: metadata.map { JSONMember(key: $0.0, value: .string($0.1)) }, to: url
        ) { header in
            let start = 8 + GraphFileFormat.headerStart.utf8.count
            let end = start + GraphFileFormat.unsealed.utf8.count
            let checksum = Checksum(UnsafeRawBufferPointer(rebasing: header[end...])).text
            UnsafeMutableRawBufferPointer(rebasing: header[start..<end]).copyBytes(from: checksum.utf8)
        }
    }

    /// A file that nobody could open is not written.
    private static func checkReadsBack(_ graph: Graph, _ text: String, path: String) throws {
        var constants: [ExactName: Tensor] = [:]
        for id in graph.externalConstants { constants[ExactName(graph[id].name)] = graph.constant(id) }
        do {
            let read = try Graph(parsing: text) { name in
                guard let tensor = constants[ExactName(name)] else { throw TensorError("the constant \(name) has no contents") }
                return tensor
            }
            guard read.isIdentical(to: graph) else {
                throw GraphFileError(.notStorable, path, "the graph's text form reads back as another graph")
            }
        } catch let error as GraphFileError {
            throw error
        } catch {
            throw GraphFileError(.notStorable, path, "the graph cannot be stored: \(error)")
        }
    }
}

/// The tensors of a file, each contents once.
private struct StoredTensors {
    private(set) var tensors: [(name: String, tensor: Tensor)] = []
    private(set) var checksums: [JSONMember] = []
    private(set) var aliases: [JSONMember] = []
    private var known: [Key: [Int]] = [:]

    private struct Key: Hashable {
        let dtype: DType
        let shape: [Int]
        let checksum: Checksum
    }

    /// Adds a tensor under a name of its own.
    mutating func add(_ name: String, _ tensor: Tensor) {
        add(name, tensor, tensor.withUnsafeBytes { Checksum($0) })
    }

    /// Adds a tensor, or an alias where an equal one is there.
    mutating func addShared(_ name: String, _ tensor: Tensor) {
        let checksum = tensor.withUnsafeBytes { Checksum($0) }
        let key = Key(dtype: tensor.dtype, shape: tensor.shape, checksum: checksum)
        if let twin = known[key]?.first(where: { Tensor.identical(tensors[$0].tensor, tensor) }) {
            aliases.append(JSONMember(key: name, value: .string(tensors[twin].name)))
            return
        }
        known[key, default: []].append(tensors.count)
        add(name, tensor, checksum)
    }

    private mutating func add(_ name: String, _ tensor: Tensor, _ checksum: Checksum) {
        checksums.append(JSONMember(key: name, value: .string(checksum.text)))
        tensors.append((name, tensor))
    }
}
