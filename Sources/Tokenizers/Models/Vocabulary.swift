/// The tokens of a model: from id to bytes and back.
struct Vocabulary: Sendable {
    /// One more than the highest id.
    let idLimit: Int
    let trie: TokenTrie
    private let ranges: ByteView
    private let bytes: ByteView

    init(_ reader: CompiledReader) throws {
        ranges = try reader.required(.tokenRanges)
        bytes = try reader.required(.tokenBytes)
        idLimit = ranges.count / 8
        guard ranges.count % 8 == 0,
            let trie = TokenTrie(units: try reader.required(.trieUnits), values: try reader.required(.trieValues))
        else { throw TokenizerError.malformedCompiled(reason: "the vocabulary sections do not fit together") }
        self.trie = trie
    }

    /// The bytes of a token, nil for an id without token. Valid as long as the vocabulary is.
    @inline(__always)
    func token(_ id: UInt32) -> UnsafeBufferPointer<UInt8>? {
        let index = Int(id)
        guard index < idLimit else { return nil }
        let entry = ranges.uint64(index)
        if entry >> 32 == UInt64(UInt32.max) { return nil }
        return bytes.bytes(offset: Int(entry & 0xFFFF_FFFF), count: Int(entry >> 32))
    }

    func id(of token: [UInt8]) -> UInt32? { trie.find(token) }

    /// The id `stated` if that is its token; for tokens that texts are not searched for.
    func hiddenID(_ stated: Int, _ content: [UInt8]) -> UInt32? {
        guard let id = UInt32(exactly: stated), let token = token(id), token.elementsEqual(content) else { return nil }
        return id
    }

    /// For each byte the id of its token `<0x00>` to `<0xFF>`, nil where there is none; also of tokens that texts are not searched for.
    func byteTokens() -> [UInt32?] {
        var result = [UInt32?](repeating: nil, count: 256)
        for id in 0..<UInt32(truncatingIfNeeded: idLimit) {
            guard let token = token(id), token.count == 6, let byte = ByteToken.byte(of: Array(token)) else { continue }
            result[Int(byte)] = result[Int(byte)] ?? id
        }
        return result
    }

    /// The number of ids that have a token.
    func count() -> Int {
        var count = 0
        for id in 0..<idLimit where ranges.uint64(id) >> 32 != UInt64(UInt32.max) { count += 1 }
        return count
    }
}

/// The tokens of a model while a tokenizer file is read.
struct VocabularySource {
    /// Ids up to here are accepted; the tables grow with the highest id.
    static let maximumID: UInt32 = 1 << 24
    private(set) var blob: [UInt8] = []
    private(set) var ranges: [Range<Int>] = []
    private(set) var ids: [UInt32] = []
    /// Tokens that the model does not look for, as places in `ids`.
    private var hidden: Set<Int> = []

    /// Adds a token. The model does not find a hidden one in a text.
    mutating func add(id: UInt32, _ token: [UInt8], isHidden: Bool = false) {
        let start = blob.count
        blob += token
        if isHidden { hidden.insert(ids.count) }
        ranges.append(start..<blob.count)
        ids.append(id)
    }

    func idsByToken() -> [[UInt8]: UInt32] {
        var result: [[UInt8]: UInt32] = [:]
        result.reserveCapacity(ids.count)
        for (range, id) in zip(ranges, ids) { result[Array(blob[range])] = id }
        return result
    }

    /// The sections of the vocabulary. Two tokens with one id are an error, and so are equal tokens, except in Unigram's
    /// list: there the text goes to the last one.
    func sections(into writer: inout CompiledWriter, path: String, allowsEqualTokens: Bool) throws {
        guard blob.count < Int(UInt32.max) else {
            throw TokenizerError.invalid(path: path, reason: "the tokens have more than 4 GiB together")
        }
        let limit = ids.max().map { Int($0) + 1 } ?? 0
        guard limit <= Int(Self.maximumID) else {
            throw TokenizerError.invalid(path: path, reason: "id \(limit - 1) is above \(Self.maximumID - 1)")
        }
        var entries = [UInt64](repeating: UInt64(UInt32.max) << 32, count: limit)
        for (range, id) in zip(ranges, ids) {
            guard entries[Int(id)] >> 32 == UInt64(UInt32.max) else {
                throw TokenizerError.invalid(path: path, reason: "id \(id) belongs to two tokens")
            }
            entries[Int(id)] = UInt64(range.lowerBound) | UInt64(range.count) << 32
        }
        var table: [UInt8] = []
        table.reserveCapacity(limit * 8)
        for entry in entries { table.appendLittleEndian(entry) }
        writer.add(.tokenRanges, table)
        writer.add(.tokenBytes, blob)
        let shown = hidden.isEmpty ? Array(ids.indices) : ids.indices.filter { !hidden.contains($0) }
        let built = TokenTrieBuilder.build(blob: blob, keys: shown.map { ranges[$0] }, values: shown.map { ids[$0] })
        if let (first, second) = built.equal, !allowsEqualTokens {
            let token = String(decoding: blob[ranges[shown[first]]], as: UTF8.self)
            throw TokenizerError.invalid(path: path, reason: "\(token) has the ids \(ids[shown[first]]) and \(ids[shown[second]])")
        }
        writer.add(.trieUnits, built.units)
        writer.add(.trieValues, built.values)
    }
}
