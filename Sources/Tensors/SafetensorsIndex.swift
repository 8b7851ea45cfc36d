import Foundation
import JSON

/// A `*.safetensors.index.json`: which of several files ("shards") holds each tensor of a large checkpoint.
public struct SafetensorsIndex: Sendable {
    public let path: String
    /// Tensor names and their shards' file names, in the order of the file.
    public let weightMap: [(tensor: String, shard: String)]

    /// - Throws: `FileError`, or `SafetensorsError` for malformed JSON and for shards outside the index's folder.
    public init(contentsOf url: URL) throws {
        let storage = try Storage(mapping: url)
        let path = url.path
        guard storage.bytes.count <= SafetensorsHeader.maximumLength else {
            throw SafetensorsError(path: path, reason: "has \(storage.bytes.count) bytes, too many for an index of tensors")
        }
        let document: JSONValue
        do {
            document = try storage.withUnsafeBytes { try JSONParser.parse($0) }
        } catch let error as JSONError {
            throw SafetensorsError(path: path, place: .byte(error.offset), reason: "invalid JSON: \(error.reason)")
        }
        guard case .object(let members)? = document["weight_map"] else {
            throw SafetensorsError(path: path, reason: "is no index of a sharded checkpoint: it has no object \"weight_map\"")
        }
        self.path = path
        weightMap = try members.map { member in
            guard let shard = member.value.stringValue else {
                throw SafetensorsError(
                    path: path, place: .tensor(member.key), reason: "its shard is \(member.value.kindName), not a file name")
            }
            guard Self.staysInFolder(shard) else {
                throw SafetensorsError(
                    path: path, place: .tensor(member.key),
                    reason: "its shard \(JSONValue.string(shard).text) lies outside the index's folder")
            }
            return (member.key, shard)
        }
    }

    /// The path alone decides: a shard that is a symbolic link is followed, since download caches are made of them.
    private static func staysInFolder(_ shard: String) -> Bool {
        let bytes = Array(shard.utf8)
        guard let first = bytes.first, first != UInt8(ascii: "/"), !bytes.contains(0) else { return false }
        return !bytes.split(separator: UInt8(ascii: "/")).contains { $0.elementsEqual("..".utf8) }
    }
}
