/// A token that was added to a model's vocabulary, and how it is found in a text.
public struct AddedToken: Sendable, Equatable {
    public let id: Int
    public let content: String
    /// Found only as a word of its own.
    public let isSingleWord: Bool
    /// Takes the white space on its left along.
    public let stripsLeft: Bool
    /// Takes the white space on its right along.
    public let stripsRight: Bool
    /// Looked for in the normalized text.
    public let isNormalized: Bool
    /// Left out when decoding skips special tokens.
    public let isSpecial: Bool

    var bytes: [UInt8] { Array(content.utf8) }
}

/// Which of several added tokens that overlap is taken.
enum AddedTokenOrder: String, Sendable {
    /// The first one, and the longest of those that begin there (Hugging Face).
    case leftmost
    /// The longest one of the whole text (llama.cpp), see LongestFirst.swift.
    case longestFirst = "longest_first"
}

/// Finds added tokens in a text.
struct AddedTokenMatcher: Sendable {
    let tokens: [AddedToken]
    let trie: TokenTrie
    let isFirstByte: [Bool]
    private let order: AddedTokenOrder

    /// `patterns` are what to look for; empty ones and repetitions are left out. Nil when nothing is left.
    init?(_ tokens: [AddedToken], patterns: [[UInt8]], order: AddedTokenOrder) {
        self.order = order
        var kept: [AddedToken] = []
        var keys: [[UInt8]] = []
        var seen: Set<[UInt8]> = []
        for (token, pattern) in zip(tokens, patterns) where !pattern.isEmpty && seen.insert(pattern).inserted {
            kept.append(token)
            keys.append(pattern)
        }
        guard !kept.isEmpty, let trie = TokenTrieBuilder.trie(keys, values: (0..<kept.count).map { UInt32($0) }) else {
            return nil
        }
        self.tokens = kept
        self.trie = trie
        var first = [Bool](repeating: false, count: 256)
        for key in keys { first[Int(key[0])] = true }
        isFirstByte = first
    }

    /// Whether any token may be in the text; cheap.
    func mayMatch(_ text: UnsafeBufferPointer<UInt8>) -> Bool {
        isFirstByte.withUnsafeBufferPointer { first in text.contains { first[Int($0)] } }
    }

    /// The tokens and the stretches between them, in order. What a token strips on its right is looked at again for
    /// the next token, so stretches may overlap (as in the reference).
    func split(_ text: UnsafeBufferPointer<UInt8>, _ found: (_ start: Int, _ end: Int, AddedToken?) -> Void) {
        if order == .longestFirst { return splitLongestFirst(text, found) }
        let table = ScalarTable.shared
        func isSpace(_ scalar: UInt32) -> Bool { table.has(ScalarTable.whitespace, scalar) }
        var done = 0
        var index = 0
        while index < text.count {
            guard isFirstByte[Int(text[index])], let match = trie.longestPrefix(of: text, at: index) else {
                index += 1
                continue
            }
            let token = tokens[Int(match.value)]
            var start = index
            var end = match.end
            index = end
            if token.isSingleWord {
                if start > 0, table.isRustWord(UTF8Bytes.scalar(text, before: start).scalar) { continue }
                if end < text.count, table.isRustWord(UTF8Bytes.scalar(text, at: end).scalar) { continue }
            }
            if token.stripsLeft {
                var left = start
                while left > 0 {
                    let (scalar, length) = UTF8Bytes.scalar(text, before: left)
                    if !isSpace(scalar) { break }
                    left -= length
                }
                start = max(left, done)
            }
            if token.stripsRight {
                while end < text.count {
                    let (scalar, length) = UTF8Bytes.scalar(text, at: end)
                    if !isSpace(scalar) { break }
                    end += length
                }
            }
            if done < start { found(done, start, nil) }
            found(start, end, token)
            done = end
        }
        if done != text.count { found(min(done, text.count), text.count, nil) }
    }
}

/// The added tokens of a tokenizer.
struct AddedVocabulary: Sendable {
    /// In order of id.
    let tokens: [AddedToken]
    let byID: [UInt32: AddedToken]
    let idsByContent: [[UInt8]: UInt32]
    let specialContents: Set<[UInt8]>
    /// What decoding writes for tokens that were matched in the normalized text: their normalized form (as in the
    /// reference).
    let normalizedByID: [UInt32: [UInt8]]
    private let all: Matchers
    /// Without the special tokens.
    private let plain: Matchers

    struct Matchers {
        /// Matched in the text as it is.
        let raw: AddedTokenMatcher?
        /// Matched in the normalized text.
        let normalized: AddedTokenMatcher?
    }

    /// What to look for in a text, with or without the special tokens.
    func matchers(parsesSpecialTokens: Bool) -> Matchers { parsesSpecialTokens ? all : plain }

    init(
        _ json: [ComponentJSON], vocabulary: Vocabulary, normalizer: (any Normalizer)?, order: AddedTokenOrder = .leftmost
    ) throws {
        var byID: [UInt32: AddedToken] = [:]
        var ids: [[UInt8]: UInt32] = [:]
        var special: Set<[UInt8]> = []
        var specialOrder: [[UInt8]] = []
        var otherOrder: [[UInt8]] = []
        let vocabularyCount = UInt32(truncatingIfNeeded: vocabulary.count())
        var highest: UInt32?
        for entry in json {
            let content = try entry.bytes("content")
            guard !content.isEmpty else { continue }
            if try entry.bool("special", default: false), special.insert(content).inserted { specialOrder.append(content) }
        }
        for entry in json {
            let content = try entry.bytes("content")
            if content.isEmpty { continue }
            let stated = try entry.count("id")
            // As in the reference, ids count on from the vocabulary; the file must say the same.
            let id: UInt32
            if let known = ids[content] ?? vocabulary.id(of: content) ?? vocabulary.hiddenID(stated, content) {
                id = known
            } else if let highest, highest >= vocabularyCount || vocabularyCount == 0 {
                id = highest + 1
            } else {
                id = vocabularyCount
            }
            guard stated == Int(id) else {
                throw entry.invalid("id", "\(stated) for a token that gets the id \(id)")
            }
            let token = AddedToken(
                id: Int(id), content: String(decoding: content, as: UTF8.self),
                isSingleWord: try entry.bool("single_word", default: false),
                stripsLeft: try entry.bool("lstrip", default: false),
                stripsRight: try entry.bool("rstrip", default: false),
                isNormalized: try entry.bool("normalized", default: true),
                isSpecial: try entry.bool("special", default: false))
            if let known = byID[id], known == token, known.bytes == content { continue }
            ids[content] = id
            byID[id] = token
            highest = max(highest ?? 0, id)
            if !special.contains(content) { otherOrder.append(content) }
        }
        self.byID = byID
        idsByContent = ids
        specialContents = special
        tokens = byID.values.sorted { $0.id < $1.id }
        let ordered = (specialOrder + otherOrder).compactMap { ids[$0].flatMap { byID[$0] } }
        let untouched = ordered.filter { !$0.isNormalized }
        let changed = ordered.filter(\.isNormalized)
        let patterns = try changed.map { token in
            var text = NormalizedText(original: token.bytes)
            try normalizer?.normalize(&text)
            return text.bytes
        }
        all = Matchers(
            raw: AddedTokenMatcher(untouched, patterns: untouched.map(\.bytes), order: order),
            normalized: AddedTokenMatcher(changed, patterns: patterns, order: order))
        let plainRaw = untouched.filter { !$0.isSpecial }
        let plainNormalized = zip(changed, patterns).filter { !$0.0.isSpecial }
        plain = Matchers(
            raw: AddedTokenMatcher(plainRaw, patterns: plainRaw.map(\.bytes), order: order),
            normalized: AddedTokenMatcher(plainNormalized.map(\.0), patterns: plainNormalized.map(\.1), order: order))
        normalizedByID = Dictionary(
            zip(changed.map { UInt32(truncatingIfNeeded: $0.id) }, patterns), uniquingKeysWith: { first, _ in first })
    }
}

/// Ids and tokens of the whole tokenizer.
final class TokenTable: Sendable {
    let vocabulary: Vocabulary
    let added: AddedVocabulary
    /// For each id whether it is an added token; such tokens need the slower look-up.
    private let isAdded: [Bool]

    init(vocabulary: Vocabulary, added: AddedVocabulary) {
        self.vocabulary = vocabulary
        self.added = added
        var flags = [Bool](repeating: false, count: (added.tokens.last?.id ?? -1) + 1)
        for token in added.tokens { flags[token.id] = true }
        isAdded = flags
    }

    @inline(__always)
    func withToken<Result>(_ id: UInt32, _ body: (UnsafeBufferPointer<UInt8>?) -> Result) -> Result {
        if Int(id) < isAdded.count, isAdded[Int(id)], let token = added.byID[id] {
            return token.bytes.withUnsafeBufferPointer { body($0) }
        }
        return body(vocabulary.token(id))
    }

    func token(_ id: UInt32) -> [UInt8]? { withToken(id) { $0.map(Array.init) } }

    func id(of token: [UInt8]) -> UInt32? { added.idsByContent[token] ?? vocabulary.id(of: token) }
}
