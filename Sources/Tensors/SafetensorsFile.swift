import Foundation
import JSON

/// A safetensors file, mapped into memory. Every claim of its header is checked when it is opened.
public struct SafetensorsFile: Sendable {
    public let path: String
    /// The tensors in the order of the header.
    public let entries: [SafetensorsEntry]
    /// `__metadata__` in the order of the file; all values are strings.
    public let metadata: [JSONMember]
    /// The whole file.
    public let storage: Storage
    private let positions: [ExactName: Int]

    /// Maps and checks a file.
    ///
    /// - Throws: `FileError` when it cannot be read, `SafetensorsError` when it is not well-formed.
    public init(contentsOf url: URL) throws {
        try self.init(storage: Storage(mapping: url), path: url.path)
    }

    /// Reads a file that is in memory already; `path` names it in errors.
    public init(storage: Storage, path: String) throws {
        let header = try SafetensorsHeader(parsing: storage.bytes, path: path)
        self.path = path
        self.storage = storage
        entries = header.entries
        metadata = header.metadata
        positions = Dictionary(uniqueKeysWithValues: header.entries.enumerated().map { (ExactName($1.name), $0) })
    }

    /// The tensor's description; nil where the file has no tensor of that name.
    public func entry(named name: String) -> SafetensorsEntry? { positions[ExactName(name)].map { entries[$0] } }

    /// The metadata of that key.
    public func metadata(_ key: String) -> String? { JSONValue.object(metadata)[key]?.stringValue }

    /// The tensor of that name: a view of the mapping where its data are aligned to the element size, else a copy.
    ///
    /// - Throws: `SafetensorsError` when the file has no such tensor.
    public func tensor(named name: String) throws -> Tensor {
        guard let entry = entry(named: name) else {
            throw SafetensorsError(path: path, place: .tensor(name), reason: "does not exist; the file has \(entries.count) tensors")
        }
        return try Tensor(dtype: entry.dtype, shape: entry.shape, storage: storage, offset: entry.bytes.lowerBound)
    }
}
