import Foundation
import JSON

/// Writes safetensors files whose data can be used straight from a mapping: the header is padded with spaces so that the data
/// start on a multiple of 64 bytes.
public enum SafetensorsWriter {
    /// Writes a file, atomically.
    ///
    /// The format allows no gaps between tensors, so the order serves alignment: tensors whose size is a multiple of 64 come first (and so
    /// all start on one), then those of larger elements before those of smaller ones; otherwise the order given is kept. Blocks are written as `U8`.
    /// Equal arguments give equal bytes.
    ///
    /// - Parameter seal: May change bytes of the finished header (the 8 bytes of length and the JSON), not their number.
    /// - Throws: `SafetensorsError` for a name that stands twice or is reserved, `FileError` when the file cannot be written.
    public static func write(
        _ tensors: [(name: String, tensor: Tensor)], metadata: [JSONMember] = [], to url: URL,
        seal: (UnsafeMutableRawBufferPointer) throws -> Void = { _ in }
    ) throws {
        let ordered = tensors.enumerated().sorted { a, b in
            let (x, y) = (rank(a.element.tensor), rank(b.element.tensor))
            return x == y ? a.offset < b.offset : x < y
        }.map(\.element)
        var header = try header(ordered, metadata: metadata, path: url.path)
        try header.withUnsafeMutableBytes(seal)
        try AtomicFile.write(to: url) { file in
            try file.write(header)
            for (_, tensor) in ordered { try tensor.withUnsafeBytes { try file.write($0) } }
        }
    }

    private static func rank(_ tensor: Tensor) -> Int {
        tensor.byteCount % Storage.alignment == 0 ? 0 : 1 + 8 - tensor.dtype.alignment
    }

    /// The length field and the header.
    private static func header(
        _ tensors: [(name: String, tensor: Tensor)], metadata: [JSONMember], path: String
    ) throws -> [UInt8] {
        var members: [JSONMember] = []
        if !metadata.isEmpty { members.append(JSONMember(key: SafetensorsHeader.metadataKey, value: .object(metadata))) }
        var names: Set<ExactName> = [ExactName(SafetensorsHeader.metadataKey)]
        var offset = 0
        for (name, tensor) in tensors {
            guard names.insert(ExactName(name)).inserted else {
                throw SafetensorsError(path: path, place: .tensor(name), reason: "the name is reserved or stands twice")
            }
            let end = offset + tensor.byteCount
            let stored = try tensor.blocksAsBytes()
            guard let dtypeName = stored.dtype.safetensorsName else {
                throw SafetensorsError(path: path, place: .tensor(name), reason: "the format has no name for the type \(stored.dtype.rawValue)")
            }
            let fields: JSONValue = [
                "dtype": .string(dtypeName),
                "shape": .array(stored.shape.map { .integer($0) }),
                "data_offsets": [.integer(offset), .integer(end)],
            ]
            members.append(JSONMember(key: name, value: fields))
            offset = end
        }
        var text = Array(JSONValue.object(members).text.utf8)
        while (8 + text.count) % Storage.alignment != 0 { text.append(UInt8(ascii: " ")) }
        guard text.count <= SafetensorsHeader.maximumLength else {
            throw SafetensorsError(path: path, reason: "the header would have \(text.count) bytes, more than the format allows")
        }
        return withUnsafeBytes(of: UInt64(text.count).littleEndian) { Array($0) } + text
    }
}
