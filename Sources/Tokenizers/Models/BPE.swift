/// Byte-pair encoding: starts from the scalars of a piece and applies the merge of the lowest rank until none fits.
///
/// Source: Sennrich, Haddow, Birch, "Neural Machine Translation of Rare Words with Subword Units" (2016).
struct BPE: Model {
    static let typeName = "BPE"
    private let vocabulary: Vocabulary
    private let trie: TokenTrie
    private let merges: MergeTable
    private let unknown: UInt32?
    private let unknownToken: String?
    private let prefix: [UInt8]
    private let suffix: [UInt8]
    private let fusesUnknown: Bool
    private let ignoresMerges: Bool
    /// A scalar that is no token keeps its neighbours apart, although it gives no token (as in llama.cpp; otherwise they meet).
    private let keepsGaps: Bool
    /// Ids of `<0x00>` to `<0xFF>` when the model falls back to bytes.
    private let byteTokens: [UInt32?]?

    init(_ json: ComponentJSON, vocabulary: Vocabulary, reader: CompiledReader) throws {
        self.vocabulary = vocabulary
        trie = vocabulary.trie
        merges = try MergeTable(try reader.required(.merges))
        let token = try json.optionalBytes("unk_token")
        unknown = token.flatMap(trie.find)
        unknownToken = token.map { String(decoding: $0, as: UTF8.self) }
        prefix = try json.optionalBytes("continuing_subword_prefix") ?? []
        suffix = try json.optionalBytes("end_of_word_suffix") ?? []
        fusesUnknown = try json.bool("fuse_unk", default: false)
        ignoresMerges = try json.bool("ignore_merges", default: false)
        keepsGaps = try json.bool("mlgraph_keeps_gaps", default: false)
        byteTokens = try json.bool("byte_fallback", default: false) ? ByteToken.ids(in: trie) : nil
        if let dropout = json.value["dropout"], dropout.number != 0 {
            throw json.unsupported("dropout \(dropout.number ?? .nan), which gives random tokens")
        }
    }

    func tokenize(_ piece: UnsafeBufferPointer<UInt8>, into tokens: inout [ModelToken], _ workspace: ModelWorkspace) throws {
        if ignoresMerges, let id = trie.find(piece) {
            tokens.append(ModelToken(id, 0, piece.count))
            return
        }
        if workspace.cache.find(piece, into: &tokens) { return }
        let first = tokens.count
        workspace.merger.removeAll()
        try addSymbols(of: piece, to: &workspace.merger)
        workspace.merger.merge(merges)
        workspace.merger.append(to: &tokens)
        workspace.cache.insert(piece, tokens[first...])
    }

    /// The smallest symbols of a piece: scalars, byte tokens or unknown tokens.
    private func addSymbols(of piece: UnsafeBufferPointer<UInt8>, to merger: inout BPEMerger) throws {
        var pending: (id: UInt32, length: Int)?
        var start = 0
        while start < piece.count {
            let length = UTF8Bytes.scalar(piece, at: start).length
            let end = start + length
            let scalar = UnsafeBufferPointer(rebasing: piece[start..<end])
            var node = TokenTrie.root
            if start > 0 { for byte in prefix where node >= 0 { node = trie.child(of: node, byte) } }
            for byte in scalar where node >= 0 { node = trie.child(of: node, byte) }
            if end == piece.count { for byte in suffix where node >= 0 { node = trie.child(of: node, byte) } }
            if node >= 0, let id = trie.value(of: node) {
                if let unknown = pending {
                    merger.add(unknown.id, length: unknown.length)
                    pending = nil
                }
                merger.add(id, length: length)
            } else if addBytes(of: scalar, isFirst: start == 0, isLast: end == piece.count, to: &merger) {
                // Byte tokens stand for it.
            } else if keepsGaps {
                merger.add(BPEMerger.noToken, length: length)
            } else if let unknownToken {
                guard let unknown else {
                    throw TokenizerError.invalid(path: "model.unk_token", reason: "\(unknownToken) is not in the vocabulary")
                }
                if let before = pending {
                    if fusesUnknown {
                        pending = (before.id, before.length + length)
                    } else {
                        merger.add(before.id, length: before.length)
                        pending = (unknown, length)
                    }
                } else {
                    pending = (unknown, length)
                }
            }
            start = end
        }
        if let unknown = pending { merger.add(unknown.id, length: unknown.length) }
    }

    /// Adds one token for each byte, also of prefix and suffix, if the model has them all.
    private func addBytes(
        of scalar: UnsafeBufferPointer<UInt8>, isFirst: Bool, isLast: Bool, to merger: inout BPEMerger
    ) -> Bool {
        guard let byteTokens else { return false }
        let bytes = (isFirst ? [] : prefix) + scalar + (isLast ? suffix : [])
        let ids = bytes.compactMap { byteTokens[Int($0)] }
        guard ids.count == bytes.count else { return false }
        for id in ids { merger.add(id, length: 1) }
        return true
    }
}
