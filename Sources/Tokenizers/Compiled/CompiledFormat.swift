/// The sections of a compiled tokenizer.
///
/// A compiled tokenizer is, in little-endian order: the 8 bytes `MLGTOKEN`, version (32 bits), number of sections (32
/// bits), for each section its kind (64 bits), offset and length in bytes (64 bits each), then the sections, each at a
/// multiple of 64. The configuration is the `tokenizer.json` without its vocabulary, merges and charsmaps; those stand in sections of
/// their own, ready to use.
enum CompiledSection: UInt64 {
    case configuration = 1
    /// For each id the offset and length of its token in `tokenBytes`; length 2^32 - 1 = no such id.
    case tokenRanges = 2
    case tokenBytes = 3
    case trieUnits = 4
    case trieValues = 5
    /// For each id its score, 64-bit floating point (Unigram).
    case scores = 6
    /// Hash table of merges (BPE), see `MergeTable`.
    case merges = 7
    /// For each id the type of its token, one byte, see `GGUFVocabulary.TokenType`.
    case tokenTypes = 8
    /// Charsmaps: 16, 17, ...
    case blob = 16
}

/// Reads the section table.
struct CompiledReader {
    static let magic: [UInt8] = Array("MLGTOKEN".utf8)
    static let version: UInt32 = 1
    private let bytes: TokenizerBytes
    private var sections: [(kind: UInt64, offset: Int, count: Int)] = []

    init(_ bytes: TokenizerBytes) throws {
        self.bytes = bytes
        guard let header = ByteView(bytes, offset: 0, count: 16), header.bytes(offset: 0, count: 8).map(Array.init) == Self.magic
        else { throw TokenizerError.malformedCompiled(reason: "it does not begin with MLGTOKEN") }
        let version = header.uint32(2)
        guard version == Self.version else {
            throw TokenizerError.malformedCompiled(reason: "version \(version), this library reads \(Self.version)")
        }
        let count = Int(header.uint32(3))
        guard count <= 1024, let table = ByteView(bytes, offset: 16, count: count * 24) else {
            throw TokenizerError.malformedCompiled(reason: "the section table is cut off")
        }
        for index in 0..<count {
            let kind = table.uint64(index * 3)
            guard let offset = Int(exactly: table.uint64(index * 3 + 1)), let length = Int(exactly: table.uint64(index * 3 + 2)),
                ByteView(bytes, offset: offset, count: length) != nil
            else { throw TokenizerError.malformedCompiled(reason: "section \(index) lies outside the data") }
            guard !sections.contains(where: { $0.kind == kind }) else {
                throw TokenizerError.malformedCompiled(reason: "section kind \(kind) occurs twice")
            }
            sections.append((kind, offset, length))
        }
    }

    func optional(_ kind: UInt64) -> ByteView? {
        guard let section = sections.first(where: { $0.kind == kind }) else { return nil }
        return ByteView(bytes, offset: section.offset, count: section.count)
    }

    func required(_ section: CompiledSection) throws -> ByteView {
        guard let view = optional(section.rawValue) else {
            throw TokenizerError.malformedCompiled(reason: "the section \(section) is missing")
        }
        return view
    }

    /// All charsmaps, in order.
    var blobs: [ByteView] {
        var result: [ByteView] = []
        while let view = optional(CompiledSection.blob.rawValue + UInt64(result.count)) { result.append(view) }
        return result
    }
}

/// Puts sections together.
struct CompiledWriter {
    private var sections: [(kind: UInt64, bytes: [UInt8])] = []

    mutating func add(_ section: CompiledSection, _ bytes: [UInt8], number: Int = 0) {
        sections.append((section.rawValue + UInt64(number), bytes))
    }

    func finish() -> [UInt8] {
        func aligned(_ offset: Int) -> Int { (offset + 63) / 64 * 64 }
        var output = CompiledReader.magic
        output.appendLittleEndian(CompiledReader.version)
        output.appendLittleEndian(UInt32(sections.count))
        var offset = aligned(16 + sections.count * 24)
        for section in sections {
            output.appendLittleEndian(section.kind)
            output.appendLittleEndian(UInt64(offset))
            output.appendLittleEndian(UInt64(section.bytes.count))
            offset = aligned(offset + section.bytes.count)
        }
        for section in sections {
            output.append(contentsOf: repeatElement(0, count: aligned(output.count) - output.count))
            output += section.bytes
        }
        return output
    }
}
