import Foundation
import Tensors

/// One tensor of a GGUF file.
public struct GGUFTensor: Sendable, Hashable {
    public let name: String
    public let type: GGUFTensorType
    /// Outermost dimension first; the file has them the other way round.
    public let shape: [Int]
    /// Where its data begin, counted from the start of the file.
    public let offset: Int
}

/// A GGUF file, versions 2 and 3, mapped into memory: metadata and tensors. Every claim of its header is checked when it is opened.
/// Format: https://github.com/ggml-org/ggml/blob/master/docs/gguf.md
public struct GGUFFile: Sendable {
    public let path: String
    public let version: Int
    /// In the order of the file.
    public let metadata: [(key: String, value: GGUFValue)]
    public let tensors: [GGUFTensor]
    private let storage: Storage
    private let keys: [ExactName: Int]
    private let positions: [ExactName: Int]

    /// Whether bytes are the beginning of a GGUF file of any version.
    public static func isGGUF(_ bytes: some Collection<UInt8>) -> Bool { bytes.starts(with: "GGUF".utf8) }

    /// - Throws: `FileError` when it cannot be read, `GGUFError` when it is not well-formed.
    public init(contentsOf url: URL) throws { try self.init(storage: Storage(mapping: url), path: url.path) }

    /// Reads a file that is in memory already; `path` names it in errors.
    public init(storage: Storage, path: String) throws {
        var cursor = GGUFCursor(storage, path: path)
        guard storage.withUnsafeBytes({ Self.isGGUF($0) }) else { throw cursor.fail("not a GGUF file: it does not begin with the letters GGUF") }
        cursor.skip(4)
        version = try Self.version(&cursor)
        // A tensor takes at least its name's length, the number of dimensions, type and offset; a value its key's length, type and a byte.
        let tensorCount = try cursor.count(of: "tensors", size: 24)
        let valueCount = try cursor.count(of: "metadata values", size: 13)
        (metadata, keys) = try Self.metadata(&cursor, valueCount)
        let alignment = try Self.alignment(metadata, keys, path: path)
        (tensors, positions) = try Self.tensors(&cursor, tensorCount, alignment: alignment)
        self.path = path
        self.storage = storage
    }

    private static func version(_ cursor: inout GGUFCursor) throws -> Int {
        let field = try cursor.integer("the version", as: UInt32.self)
        switch field {
        case 2, 3: return Int(field)
        case 1: throw cursor.fail("version 1 of GGUF is not read; convert the model again with a current program", at: 4)
        case _ where field & 0xFFFF == 0:
            throw cursor.fail("the file is big-endian, which is not read; convert the model for little-endian machines", at: 4)
        default: throw cursor.fail("version \(field) of GGUF is not known, known are 2 and 3", at: 4)
        }
    }

    private static func metadata(
        _ cursor: inout GGUFCursor, _ count: Int
    ) throws -> (values: [(key: String, value: GGUFValue)], keys: [ExactName: Int]) {
        var values: [(key: String, value: GGUFValue)] = []
        var keys: [ExactName: Int] = [:]
        for index in 0..<count {
            let start = cursor.position
            let key = try cursor.string("a metadata key")
            guard keys.updateValue(index, forKey: ExactName(key)) == nil else { throw cursor.fail("the key \(quoted(key)) stands twice", at: start) }
            let type = try cursor.valueType(of: quoted(key))
            values.append((key, try cursor.value(type, quoted(key))))
        }
        return (values, keys)
    }

    private static func alignment(_ metadata: [(key: String, value: GGUFValue)], _ keys: [ExactName: Int], path: String) throws -> Int {
        let key = "general.alignment"
        guard let value = keys[ExactName(key)].map({ metadata[$0].value }) else { return 32 }
        guard let alignment = value.intValue, alignment > 0, alignment <= 1 << 20, alignment & (alignment - 1) == 0 else {
            throw GGUFError(path: path, place: .key(key), reason: "is no power of two up to \(1 << 20)")
        }
        return alignment
    }

    private static func tensors(
        _ cursor: inout GGUFCursor, _ count: Int, alignment: Int
    ) throws -> (tensors: [GGUFTensor], positions: [ExactName: Int]) {
        struct Claim {
            let name: String
            let type: GGUFTensorType
            let shape: [Int]
            let offset: UInt64
        }
        var claims: [Claim] = []
        var positions: [ExactName: Int] = [:]
        for index in 0..<count {
            let start = cursor.position
            let name = try cursor.string("a tensor name")
            guard positions.updateValue(index, forKey: ExactName(name)) == nil else {
                throw cursor.fail("the tensor \(quoted(name)) stands twice", at: start)
            }
            let place = cursor.position
            let rank = try cursor.integer("the rank of tensor \(quoted(name))", as: UInt32.self)
            guard rank <= 4 else { throw cursor.fail("the tensor \(quoted(name)) has \(rank) dimensions, at most 4 are allowed", at: place) }
            var shape: [Int] = []
            for _ in 0..<rank {
                let place = cursor.position
                let size = try cursor.integer("the shape of tensor \(quoted(name))", as: UInt64.self)
                guard let size = Int(exactly: size) else { throw cursor.fail("the tensor \(quoted(name)) has a dimension of \(size)", at: place) }
                shape.insert(size, at: 0)
            }
            let type = GGUFTensorType(code: try cursor.integer("the type of tensor \(quoted(name))"))
            let offset = try cursor.integer("the offset of tensor \(quoted(name))", as: UInt64.self)
            claims.append(Claim(name: name, type: type, shape: shape, offset: offset))
        }
        let (dataStart, fileSize) = ((cursor.position + alignment - 1) / alignment * alignment, cursor.position + cursor.remaining)
        var extents: [(range: Range<Int>, name: String)] = []
        let tensors = try claims.map { claim in
            func fail(_ reason: String) -> GGUFError { GGUFError(path: cursor.path, place: .tensor(claim.name), reason: reason) }
            guard claim.offset % UInt64(alignment) == 0 else {
                throw fail("its offset \(claim.offset) is no multiple of the alignment \(alignment)")
            }
            // The size of a type that is not read is not known either.
            let size: Int
            do {
                size = try claim.type.dtype.map { try Shape.byteCount(claim.shape, $0) } ?? 0
            } catch {
                throw fail("\(error)")
            }
            guard let offset = Int(exactly: claim.offset), offset <= fileSize - min(dataStart, fileSize), size <= fileSize - dataStart - offset else {
                throw fail("its \(size) bytes at offset \(claim.offset) of the data lie beyond the end of the file: it is cut off or damaged")
            }
            let start = dataStart + offset
            if size > 0 { extents.append((start..<start + size, claim.name)) }
            return GGUFTensor(name: claim.name, type: claim.type, shape: claim.shape, offset: start)
        }
        extents.sort { ($0.range.lowerBound, $0.range.upperBound) < ($1.range.lowerBound, $1.range.upperBound) }
        for (a, b) in zip(extents, extents.dropFirst()) where b.range.lowerBound < a.range.upperBound {
            throw GGUFError(path: cursor.path, place: .tensor(b.name), reason: "its data overlap those of tensor \(quoted(a.name))")
        }
        return (tensors, positions)
    }

    /// The value of a key; nil where there is none.
    public func value(_ key: String) -> GGUFValue? { keys[ExactName(key)].map { metadata[$0].value } }

    /// The description of a tensor; nil where there is none of that name.
    public func entry(named name: String) -> GGUFTensor? { positions[ExactName(name)].map { tensors[$0] } }

    /// The tensor in its blocks: a view of the mapping where its data are aligned, which they are in files of the usual alignment.
    ///
    /// - Throws: `GGUFError` where there is no such tensor, or one of a type that is not read.
    public func tensor(named name: String) throws -> Tensor {
        guard let entry = entry(named: name) else {
            throw GGUFError(path: path, place: .tensor(name), reason: "does not exist; the file has \(tensors.count) tensors")
        }
        guard let dtype = entry.type.dtype else {
            throw GGUFError(path: path, place: .tensor(name), reason: "is stored as \(entry.type); read are \(GGUFTensorType.readable)")
        }
        return try Tensor(dtype: dtype, shape: entry.shape, storage: storage, offset: entry.offset)
    }
}
