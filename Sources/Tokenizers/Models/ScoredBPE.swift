/// SentencePiece's byte-pair encoding: of all pairs of neighbours that are a token together, the one with the best score is
/// merged, of equal ones the leftmost; again and again. There is no list of merges.
///
/// Source: Kudo, Richardson, "SentencePiece" (2018).
struct ScoredBPE: Model {
    static let typeName = "ScoredBPE"
    private let trie: TokenTrie
    private let scores: ByteView
    private let unknown: UInt32?
    /// Ids of `<0x00>` to `<0xFF>`.
    private let byteTokens: [UInt32?]

    init(_ json: ComponentJSON, vocabulary: Vocabulary, reader: CompiledReader) throws {
        trie = vocabulary.trie
        scores = try reader.required(.scores)
        guard scores.count == vocabulary.idLimit * 8 else {
            throw TokenizerError.malformedCompiled(reason: "there is not one score for each token")
        }
        unknown = try json.optionalCount("unk_id").map { UInt32($0) }
        byteTokens = vocabulary.byteTokens()
    }

    func tokenize(_ piece: UnsafeBufferPointer<UInt8>, into tokens: inout [ModelToken], _ workspace: ModelWorkspace) throws {
        workspace.merger.removeAll()
        var start = 0
        while start < piece.count {
            let length = UTF8Bytes.scalar(piece, at: start).length
            let id = trie.find(UnsafeBufferPointer(rebasing: piece[start..<(start + length)]))
            workspace.merger.add(id ?? BPEMerger.noToken, length: length)
            start += length
        }
        workspace.merger.merge(Rule(piece: piece, trie: trie, scores: scores))
        try workspace.merger.forEachSymbol { id, start, end in
            if id != BPEMerger.noToken {
                tokens.append(ModelToken(id, start, end))
                return
            }
            let ids = piece[start..<end].compactMap { byteTokens[Int($0)] }
            if ids.count == end - start {
                for id in ids { tokens.append(ModelToken(id, start, end)) }
            } else if let unknown {
                tokens.append(ModelToken(unknown, start, end, isSurface: true))
            } else {
                throw TokenizerError.invalid(
                    path: "model.unk_id", reason: "missing, but the text has a character that is not in the vocabulary")
            }
        }
    }

    private struct Rule: MergeRule {
        let piece: UnsafeBufferPointer<UInt8>
        let trie: TokenTrie
        let scores: ByteView

        @inline(__always)
        func merge(_ left: UInt32, _ right: UInt32, at start: Int, _ end: Int) -> (rank: UInt32, merged: UInt32)? {
            guard let id = trie.find(UnsafeBufferPointer(rebasing: piece[start..<end])) else { return nil }
            // The order of the bits of a float is the order of its absolute value; -0 is 0.
            let bits = (Float(Double(bitPattern: scores.uint64(Int(id)))) + 0).bitPattern
            let ascending = bits >> 31 == 0 ? bits | 1 << 31 : ~bits
            return (~ascending, id)
        }
    }
}
