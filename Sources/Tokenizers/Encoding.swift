/// A special token that a post-processor or padding adds.
struct SpecialToken: Sendable {
    let content: [UInt8]
    let id: UInt32

    init(_ pair: (content: [UInt8], id: UInt32)) {
        content = pair.content
        id = pair.id
    }
}

/// The tokens of one text, or of a pair of texts.
///
/// Properties that are arrays have one element per token and are made when they are read: keep them in a variable
/// when you loop over them.
public struct Encoding: Sendable {
    /// One token.
    struct Record: Sendable {
        var id: UInt32
        var typeID: UInt32
        /// Bytes of the sequence's text.
        var start: UInt32
        var end: UInt32
        /// -1: none.
        var word: Int32
        /// -1: none.
        var sequence: Int8
        var isSpecial: Bool
        var isPadding: Bool
        /// Where `surfaces` has the token's text; -1: as in the vocabulary.
        var surface: Int32
        var surfaceCount: Int32
    }

    var records: [Record] = []
    var surfaces: [UInt8] = []
    /// The texts of sequence 0 and 1.
    var sources: [EncodingSource?] = [nil, nil]
    let table: TokenTable

    /// The parts that truncation cut off, each with its own special tokens; with a pair, every combination of parts.
    public internal(set) var overflowing: [Encoding] = []
    /// How many tokens of the text truncation cut off.
    public internal(set) var truncatedTokenCount = 0

    init(table: TokenTable) { self.table = table }

    /// The number of tokens.
    public var count: Int { records.count }
    /// Ids of the tokens.
    public var ids: [Int] { records.map { Int($0.id) } }
    /// The number that says which sequence of a pair a token belongs to, as the model wants it.
    public var typeIDs: [Int] { records.map { Int($0.typeID) } }
    /// 1, for padding 0.
    public var attentionMask: [Int] { records.map { $0.isPadding ? 0 : 1 } }
    /// 1 for tokens that the text does not have: special tokens and padding.
    public var specialTokensMask: [Int] { records.map { $0.isSpecial ? 1 : 0 } }
    /// The number of the pre-token within its sequence, nil for special tokens.
    public var wordIDs: [Int?] { records.map { $0.word < 0 ? nil : Int($0.word) } }
    /// 0 for the first text, 1 for the second, nil for special tokens.
    public var sequenceIDs: [Int?] { records.map { $0.sequence < 0 ? nil : Int($0.sequence) } }

    /// The text of each token: as in the vocabulary; for added tokens and unknown pieces of Unigram as in the text.
    public var tokens: [String] { records.map { withTokenBytes($0) { String(decoding: $0, as: UTF8.self) } } }

    /// For each token the range of UTF-8 bytes in its text (for pre-tokenized input in its word); 0..<0 for special tokens.
    public var offsetsUTF8: [Range<Int>] {
        records.map { record in
            guard record.sequence >= 0 else { return 0..<0 }
            let base = wordStart(record)
            return Self.range(Int(record.start) - base, Int(record.end) - base)
        }
    }

    /// For each token the range of Unicode scalars in its text (for pre-tokenized input in its word); 0..<0 for special tokens.
    public var offsets: [Range<Int>] {
        let counters = sources.map { $0.map(ScalarCounter.init) }
        return records.map { record in
            guard record.sequence >= 0, let counter = counters[Int(record.sequence)] else { return 0..<0 }
            let base = counter.index(of: wordStart(record))
            return Self.range(counter.index(of: Int(record.start)) - base, counter.index(of: Int(record.end)) - base)
        }
    }

    private static func range(_ start: Int, _ end: Int) -> Range<Int> { start..<max(start, end) }

    /// Where the word of a token begins; 0 when the text was not pre-tokenized.
    func wordStart(_ record: Record) -> Int {
        guard record.sequence >= 0, let starts = sources[Int(record.sequence)]?.wordStarts,
            starts.indices.contains(Int(record.word))
        else { return 0 }
        return starts[Int(record.word)]
    }

    func withTokenBytes<Result>(_ record: Record, _ body: (UnsafeBufferPointer<UInt8>) -> Result) -> Result {
        if record.surface >= 0 {
            return surfaces.withUnsafeBufferPointer {
                body(UnsafeBufferPointer(rebasing: $0[Int(record.surface)..<Int(record.surface + record.surfaceCount)]))
            }
        }
        return table.withToken(record.id) { body($0 ?? UnsafeBufferPointer(start: nil, count: 0)) }
    }
}

/// The text that offsets refer to.
final class EncodingSource: Sendable {
    let bytes: [UInt8]
    /// For pre-tokenized input, where each word begins in `bytes`.
    let wordStarts: [Int]?

    init(bytes: [UInt8], wordStarts: [Int]? = nil) {
        self.bytes = bytes
        self.wordStarts = wordStarts
    }
}

/// Finds how many scalars begin before a byte offset.
struct ScalarCounter {
    /// The count at every 64th byte; nil for ASCII.
    private let counts: [Int]?
    private let bytes: [UInt8]

    init(_ source: EncodingSource) {
        bytes = source.bytes
        if bytes.withUnsafeBufferPointer({ UTF8Bytes.isASCII($0) }) {
            counts = nil
            return
        }
        var counts: [Int] = []
        counts.reserveCapacity(bytes.count / 64 + 1)
        var count = 0
        for (index, byte) in bytes.enumerated() {
            if index % 64 == 0 { counts.append(count) }
            if byte & 0xC0 != 0x80 { count += 1 }
        }
        if bytes.count % 64 == 0 { counts.append(count) }
        self.counts = counts
    }

    func index(of offset: Int) -> Int {
        guard let counts, offset > 0 else { return max(offset, 0) }
        let block = min(offset / 64, counts.count - 1)
        var count = counts[block]
        for byte in bytes[min(block * 64, bytes.count)..<min(offset, bytes.count)] where byte & 0xC0 != 0x80 { count += 1 }
        return count
    }
}
