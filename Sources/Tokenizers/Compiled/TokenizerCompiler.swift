import Foundation

/// Turns a tokenizer file into the compiled form: the vocabulary becomes tables that are used as they are stored, the
/// rest of the JSON stays JSON.
struct TokenizerCompiler {
    private var vocabulary = VocabularySource()
    private var scores: [Double] = []
    /// The types of the tokens of a GGUF file, one byte each.
    private var tokenTypes: [UInt8] = []
    /// Merges as pairs of tokens, in order of rank.
    private var merges = MergeSource()
    /// Members of the model apart from vocabulary and merges, and the other members of the file: key and JSON text.
    private var model: [(key: [UInt8], text: [UInt8])] = []
    private var members: [(key: [UInt8], text: [UInt8])] = []
    private var hasVocabulary = false
    private var isScored = false

    init(tokenizerJSON bytes: UnsafeBufferPointer<UInt8>) throws {
        var reader = try JSONReader(bytes)
        var hasModel = false
        var seen: Set<[UInt8]> = []
        try reader.readObject { reader, key in
            if !seen.insert(key).inserted { throw reader.error("the key \"\(String(decoding: key, as: UTF8.self))\" occurs twice") }
            if key == Array("model".utf8) {
                hasModel = true
                try readModel(&reader)
            } else {
                members.append((key, try Self.text(of: &reader, bytes)))
            }
        }
        try reader.finish()
        guard hasModel else { throw TokenizerError.invalid(path: "tokenizer.json", reason: "has no model") }
        guard hasVocabulary else { throw TokenizerError.invalid(path: "tokenizer.json.model", reason: "has no vocab") }
    }

    /// A tokenizer put together from other files.
    init(
        model: [(String, [UInt8])], members: [(String, [UInt8])], vocabulary: VocabularySource, merges: MergeSource = MergeSource(),
        scores: [Double]? = nil, tokenTypes: [UInt8] = []
    ) {
        self.scores = scores ?? []
        isScored = scores != nil
        self.tokenTypes = tokenTypes
        self.model = model.map { (Array($0.0.utf8), $0.1) }
        self.members = members.map { (Array($0.0.utf8), $0.1) }
        self.vocabulary = vocabulary
        self.merges = merges
    }

    /// Adds a member to the configuration.
    mutating func add(_ key: String, _ json: [UInt8]) { members.append((Array(key.utf8), json)) }

    private static func text(of reader: inout JSONReader, _ bytes: UnsafeBufferPointer<UInt8>) throws -> [UInt8] {
        let value = try reader.readValue(depth: 1)
        return Array(bytes[value.range])
    }

    private mutating func readModel(_ reader: inout JSONReader) throws {
        let bytes = reader.bytes
        var seen: Set<[UInt8]> = []
        try reader.readObject { reader, key in
            if !seen.insert(key).inserted { throw reader.error("the key \"\(String(decoding: key, as: UTF8.self))\" occurs twice") }
            if key == Array("vocab".utf8) {
                hasVocabulary = true
                try readVocabulary(&reader)
            } else if key == Array("merges".utf8) {
                try merges.read(&reader)
            } else {
                model.append((key, try Self.text(of: &reader, bytes)))
            }
        }
    }

    private mutating func readVocabulary(_ reader: inout JSONReader) throws {
        if reader.peek() == 0x5B {
            isScored = true
            try reader.readArray { reader in
                var token: [UInt8] = []
                var part = 0
                try reader.readArray { reader in
                    if part == 0 { try reader.readString(into: &token) } else { scores.append(try reader.readNumber()) }
                    part += 1
                }
                guard part == 2 else { throw reader.error("expected [token, score]") }
                vocabulary.add(id: UInt32(truncatingIfNeeded: scores.count - 1), token)
            }
        } else {
            try reader.readObject { reader, key in vocabulary.add(id: try reader.readID(), key) }
        }
    }

    /// The compiled form.
    func compile(allowsEqualTokens: Bool = false) throws -> [UInt8] {
        var writer = CompiledWriter()
        var settings = model
        let type = try modelType(&settings)
        try vocabulary.sections(into: &writer, path: "model.vocab", allowsEqualTokens: allowsEqualTokens || isScored)
        if type == Unigram.typeName || type == ScoredBPE.typeName {
            guard isScored else {
                throw TokenizerError.invalid(path: "model.vocab", reason: "a \(type) vocabulary is a list of [token, score]")
            }
            var bytes: [UInt8] = []
            bytes.reserveCapacity(scores.count * 8)
            for score in scores { bytes.appendLittleEndian(score.bitPattern) }
            writer.add(.scores, bytes)
        } else if isScored {
            throw TokenizerError.invalid(path: "model.vocab", reason: "\(type) needs an object of tokens and ids")
        }
        if type == BPE.typeName { try addMerges(to: &writer, settings) }
        if !tokenTypes.isEmpty { writer.add(.tokenTypes, tokenTypes) }
        var configuration = Self.object(members + [(Array("model".utf8), Self.object(settings))])
        for (number, blob) in try Self.takeCharsmaps(&configuration).enumerated() {
            writer.add(.blob, blob, number: number)
        }
        writer.add(.configuration, configuration)
        return writer.finish()
    }

    /// The type of the model; old files leave it out, then it follows from the other members.
    private func modelType(_ settings: inout [(key: [UInt8], text: [UInt8])]) throws -> String {
        func has(_ key: String) -> Bool { settings.contains { $0.key == Array(key.utf8) } }
        if let type = settings.first(where: { $0.key == Array("type".utf8) }) {
            guard let name = try JSONValue.parse(type.text).string else {
                throw TokenizerError.invalid(path: "model.type", reason: "expected a string")
            }
            return name
        }
        let name =
            isScored
            ? Unigram.typeName
            : merges.isGiven ? BPE.typeName : has("max_input_chars_per_word") ? WordPiece.typeName : WordLevel.typeName
        settings.insert((Array("type".utf8), JSONValue.quoted(Array(name.utf8))), at: 0)
        return name
    }

    private func addMerges(to writer: inout CompiledWriter, _ settings: [(key: [UInt8], text: [UInt8])]) throws {
        let value = try JSONValue.parse(Self.object(settings))
        let json = ComponentJSON(value, path: "model", blobs: [])
        let prefix = try json.optionalBytes("continuing_subword_prefix")?.count ?? 0
        writer.add(.merges, MergeTable.build(try merges.resolve(vocabulary, prefixLength: prefix)))
    }

    private static func object(_ members: [(key: [UInt8], text: [UInt8])]) -> [UInt8] {
        var output: [UInt8] = [0x7B]
        for (index, member) in members.enumerated() {
            if index > 0 { output.append(0x2C) }
            output += JSONValue.quoted(member.key) + [0x3A] + member.text
        }
        return output + [0x7D]
    }

    private static let maximumCharsmaps = 64

    /// Takes the charsmaps out of the JSON; `@n` stands in their place.
    private static func takeCharsmaps(_ json: inout [UInt8]) throws -> [[UInt8]] {
        var found: [JSONValue] = []
        func visit(_ value: JSONValue) {
            switch value.content {
            case .array(let elements): elements.forEach(visit)
            case .object(let members):
                for member in members {
                    if member.key == Array("precompiled_charsmap".utf8), case .string = member.value.content {
                        found.append(member.value)
                    } else {
                        visit(member.value)
                    }
                }
            default: break
            }
        }
        visit(try JSONValue.parse(json))
        guard found.count <= maximumCharsmaps else {
            throw TokenizerError.invalid(path: "normalizer", reason: "\(found.count) charsmaps, at most \(maximumCharsmaps) are possible")
        }
        var blobs: [[UInt8]] = []
        for value in found {
            guard let text = value.bytes, let data = Data(base64Encoded: Data(text)) else {
                throw TokenizerError.invalid(path: "normalizer.precompiled_charsmap", reason: "not base64")
            }
            blobs.append(Array(data))
        }
        for (number, value) in found.enumerated().reversed() {
            json.replaceSubrange(value.range, with: Array("\"@\(number)\"".utf8))
        }
        return blobs
    }
}

/// The merges of a BPE model while its file is read.
struct MergeSource {
    private var blob: [UInt8] = []
    private var pairs: [(left: Range<Int>, right: Range<Int>)] = []
    private(set) var isGiven = false

    mutating func add(_ left: [UInt8], _ right: [UInt8]) {
        let start = blob.count
        blob += left
        let middle = blob.count
        blob += right
        pairs.append((start..<middle, middle..<blob.count))
    }

    /// Reads a list of `"left right"` or `["left", "right"]`.
    mutating func read(_ reader: inout JSONReader) throws {
        isGiven = true
        try reader.readArray { reader in
            if reader.peek() == 0x5B {
                var parts: [[UInt8]] = []
                try reader.readArray { reader in
                    var token: [UInt8] = []
                    try reader.readString(into: &token)
                    parts.append(token)
                    if parts.count > 2 { throw reader.error("expected two tokens") }
                }
                guard parts.count == 2 else { throw reader.error("expected two tokens") }
                add(parts[0], parts[1])
            } else {
                var line: [UInt8] = []
                try reader.readString(into: &line)
                guard addLine(line) else { throw reader.error("expected two tokens") }
            }
        }
    }

    /// Adds a line `left right`; false when it is not of that form.
    mutating func addLine(_ line: [UInt8]) -> Bool {
        let parts = line.split(separator: 0x20, omittingEmptySubsequences: false)
        guard parts.count == 2 else { return false }
        isGiven = true
        add(Array(parts[0]), Array(parts[1]))
        return true
    }

    /// The merges by id. The merged token is left and right joined, less the prefix of right.
    func resolve(
        _ vocabulary: VocabularySource, prefixLength: Int
    ) throws -> [(left: UInt32, right: UInt32, merged: UInt32)] {
        let ids = vocabulary.idsByToken()
        return try pairs.enumerated().map { rank, pair in
            let left = blob[pair.left]
            let right = blob[pair.right]
            func id(_ token: [UInt8]) throws -> UInt32 {
                guard let id = ids[token] else {
                    throw TokenizerError.invalid(
                        path: "model.merges[\(rank)]",
                        reason: "the token \(String(decoding: token, as: UTF8.self)) is not in the vocabulary")
                }
                return id
            }
            return (try id(Array(left)), try id(Array(right)), try id(Array(left) + Array(right.dropFirst(prefixLength))))
        }
    }
}
