/// The best way to reach one position of a piece.
struct UnigramNode: Sendable {
    var score: Double
    /// Where the last token of this way starts, -1 when the position is not reached.
    var start: Int32
    var id: UInt32
}

/// Unigram: the sequence of tokens with the highest sum of scores (Viterbi). A scalar that is no token costs the lowest
/// score less 10; neighbouring unknown scalars are one unknown token.
///
/// Source: Kudo, "Subword Regularization" (2018).
struct Unigram: Model {
    static let typeName = "Unigram"
    private let trie: TokenTrie
    private let scores: ByteView
    private let unknown: UInt32?
    private let unknownScore: Double
    /// Ids of `<0x00>` to `<0xFF>` when the model falls back to bytes.
    private let byteTokens: [UInt32?]?
    /// Sums are 32-bit, as in SentencePiece; otherwise 64-bit.
    private let isSinglePrecision: Bool

    init(_ json: ComponentJSON, vocabulary: Vocabulary, reader: CompiledReader) throws {
        trie = vocabulary.trie
        scores = try reader.required(.scores)
        guard scores.count == vocabulary.idLimit * 8 else {
            throw TokenizerError.malformedCompiled(reason: "there is not one score for each token")
        }
        var minimum = Double.infinity
        for id in 0..<vocabulary.idLimit { minimum = min(minimum, Double(bitPattern: scores.uint64(id))) }
        unknownScore = try json.optionalNumber("mlgraph_unk_score") ?? minimum - 10
        if let id = try json.optionalCount("unk_id") {
            guard id < vocabulary.idLimit else { throw json.invalid("unk_id", "not below the vocabulary size") }
            unknown = UInt32(id)
        } else {
            unknown = nil
        }
        isSinglePrecision = try json.bool("mlgraph_single_precision", default: false)
        guard try json.bool("byte_fallback", default: false) else {
            byteTokens = nil
            return
        }
        let found = ByteToken.ids(in: trie)
        byteTokens = found.contains { $0 != nil } ? found : vocabulary.byteTokens()
    }

    func tokenize(_ piece: UnsafeBufferPointer<UInt8>, into tokens: inout [ModelToken], _ workspace: ModelWorkspace) throws {
        let empty = UnigramNode(score: 0, start: -1, id: 0)
        workspace.lattice.removeAll(keepingCapacity: true)
        workspace.lattice.append(contentsOf: repeatElement(empty, count: piece.count + 1))
        try workspace.lattice.withUnsafeMutableBufferPointer { try forward(piece, $0) }
        try backward(piece, workspace.lattice, into: &tokens)
    }

    private func forward(_ piece: UnsafeBufferPointer<UInt8>, _ best: UnsafeMutableBufferPointer<UnigramNode>) throws {
        var start = 0
        while start < piece.count {
            let score = best[start].score
            let scalarLength = UTF8Bytes.scalar(piece, at: start).length
            var hasScalar = false
            var node = TokenTrie.root
            var index = start
            while index < piece.count {
                node = trie.child(of: node, piece[index])
                if node < 0 { break }
                index += 1
                guard let id = trie.value(of: node) else { continue }
                let candidate = rounded(Double(bitPattern: scores.uint64(Int(id))) + score)
                if best[index].start < 0 || candidate > best[index].score {
                    best[index] = UnigramNode(score: candidate, start: Int32(truncatingIfNeeded: start), id: id)
                }
                if index - start == scalarLength { hasScalar = true }
            }
            if !hasScalar {
                let candidate = rounded(unknownScore + score)
                let end = start + scalarLength
                if best[end].start < 0 || candidate > best[end].score {
                    guard let unknown else { throw Self.missingUnknown }
                    best[end] = UnigramNode(score: candidate, start: Int32(truncatingIfNeeded: start), id: unknown)
                }
            }
            start += scalarLength
        }
    }

    @inline(__always)
    private func rounded(_ score: Double) -> Double { isSinglePrecision ? Double(Float(score)) : score }

    private func backward(
        _ piece: UnsafeBufferPointer<UInt8>, _ best: [UnigramNode], into tokens: inout [ModelToken]
    ) throws {
        let first = tokens.count
        var end = piece.count
        while end > 0 {
            let node = best[end]
            guard node.start >= 0, node.start < end else {
                throw TokenizerError.malformedCompiled(reason: "the vocabulary has a token that ends inside a character")
            }
            tokens.append(ModelToken(node.id, Int(node.start), end))
            end = Int(node.start)
        }
        tokens[first...].reverse()
        guard let unknown, tokens[first...].contains(where: { $0.id == unknown }) else { return }
        // Join unknown neighbours, then look at what they are together.
        let found = tokens[first...]
        var joined: [ModelToken] = []
        for token in found {
            if token.id == unknown, let last = joined.last, last.id == unknown, last.isSurface {
                joined[joined.count - 1].end = token.end
            } else {
                joined.append(ModelToken(token.id, Int(token.start), Int(token.end), isSurface: token.id == unknown))
            }
        }
        tokens.removeSubrange(first...)
        for token in joined {
            guard token.isSurface else {
                tokens.append(token)
                continue
            }
            let text = UnsafeBufferPointer(rebasing: piece[Int(token.start)..<Int(token.end)])
            if let id = trie.find(text) {
                tokens.append(ModelToken(id, Int(token.start), Int(token.end)))
            } else if let byteTokens, text.allSatisfy({ byteTokens[Int($0)] != nil }) {
                for byte in text {
                    if let id = byteTokens[Int(byte)] { tokens.append(ModelToken(id, Int(token.start), Int(token.end))) }
                }
            } else {
                tokens.append(token)
            }
        }
    }

    private static let missingUnknown = TokenizerError.invalid(
        path: "model.unk_id", reason: "missing, but the text has a character that is not in the vocabulary")
}

/// Tokens that stand for one byte, `<0x00>` to `<0xFF>`.
enum ByteToken {
    private static let digits = Array("0123456789ABCDEF".utf8)

    /// The id of each byte's token, nil where there is none.
    static func ids(in trie: TokenTrie) -> [UInt32?] {
        (0...255).map { byte in
            trie.find([0x3C, 0x30, 0x78, digits[byte >> 4], digits[byte & 15], 0x3E])
        }
    }

    /// The byte that a token stands for. Unlike in `ids`, the digits may be in either case, and the first may be `+`.
    static func byte(of token: [UInt8]) -> UInt8? {
        guard token.count == 6, token[0] == 0x3C, token[1] == 0x30, token[2] == 0x78, token[5] == 0x3E,
            let high = token[3] == 0x2B ? 0 : hexDigit(token[3]), let low = hexDigit(token[4])
        else { return nil }
        return high << 4 | low
    }

    private static func hexDigit(_ byte: UInt8) -> UInt8? {
        switch byte {
        case 0x30...0x39: byte - 0x30
        case 0x41...0x46: byte - 0x37
        case 0x61...0x66: byte - 0x57
        default: nil
        }
    }
}
