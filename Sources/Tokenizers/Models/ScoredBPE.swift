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
    /// Symbols of the user, which are found first and not merged.
    private let symbols: TokenTrie?
    private let symbolIDs: Set<UInt32>

    init(_ json: ComponentJSON, vocabulary: Vocabulary, reader: CompiledReader) throws {
        trie = vocabulary.trie
        scores = try reader.required(.scores)
        guard scores.count == vocabulary.idLimit * 8 else {
            throw TokenizerError.malformedCompiled(reason: "there is not one score for each token")
        }
        unknown = try json.optionalCount("unk_id").map { UInt32($0) }
        byteTokens = try json.bool("byte_fallback", default: true) ? vocabulary.byteTokens() : []
        let texts = json.value["user_defined"] == nil ? [] : try json.array("user_defined").compactMap(\.bytes)
        let ids = texts.compactMap(trie.find)
        symbols = texts.isEmpty || ids.count != texts.count ? nil : TokenTrieBuilder.trie(texts, values: ids)
        symbolIDs = Set(ids)
    }

    func tokenize(_ piece: UnsafeBufferPointer<UInt8>, into tokens: inout [ModelToken], _ workspace: ModelWorkspace) throws {
        workspace.merger.removeAll()
        var start = 0
        while start < piece.count {
            if let symbol = symbols?.longestPrefix(of: piece, at: start) {
                workspace.merger.add(symbol.value, length: symbol.end - start)
                start = symbol.end
                continue
            }
            let length = UTF8Bytes.scalar(piece, at: start).length
            let id = trie.find(UnsafeBufferPointer(rebasing: piece[start..<(start + length)]))
            workspace.merger.add(id ?? BPEMerger.noToken, length: length)
            start += length
        }
        workspace.merger.merge(Rule(piece: piece, trie: trie, scores: scores, symbolIDs: symbolIDs))
        try workspace.merger.forEachSymbol { id, start, end in
            if id != BPEMerger.noToken {
                tokens.append(ModelToken(id, start, end))
                return
            }
            let ids = byteTokens.isEmpty ? [] : piece[start..<end].compactMap { byteTokens[Int($0)] }
            if ids.count == end - start {
                for id in ids { tokens.append(ModelToken(id, start, end)) }
            } else if let unknown {
                tokens.appendUnknown(unknown, start, end)
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
        let symbolIDs: Set<UInt32>

        @inline(__always)
        func merge(_ left: UInt32, _ right: UInt32, at start: Int, _ end: Int) -> (rank: UInt32, merged: UInt32)? {
            guard let id = trie.find(UnsafeBufferPointer(rebasing: piece[start..<end])) else { return nil }
            if !symbolIDs.isEmpty, symbolIDs.contains(left) || symbolIDs.contains(right) { return nil }
            // The order of the bits of a float is the order of its absolute value; -0 is 0.
            let bits = (Float(Double(bitPattern: scores.uint64(Int(id)))) + 0).bitPattern
            let ascending = bits >> 31 == 0 ? bits | 1 << 31 : ~bits
            return (~ascending, id)
        }
    }
}
