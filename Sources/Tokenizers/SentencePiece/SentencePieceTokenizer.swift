import Foundation

/// Makes the compiled tokenizer of a SentencePiece model. Control pieces are not looked for in texts and not added around them, as
/// SentencePiece does it.
enum SentencePieceTokenizer {
    static func compile(_ bytes: [UInt8]) throws -> [UInt8] {
        let model = try SentencePieceModel(bytes)
        var vocabulary = VocabularySource()
        for (id, piece) in model.pieces.enumerated() {
            vocabulary.add(
                id: UInt32(truncatingIfNeeded: id), piece.text, isHidden: piece.type != .normal && piece.type != .userDefined)
        }
        guard let unknown = model.pieces.firstIndex(where: { $0.type == .unknown }) else {
            throw SentencePieceModel.invalid("pieces", "none is the unknown piece")
        }
        func texts(_ type: GGUFVocabulary.TokenType) -> [UInt8] {
            list(model.pieces.filter { $0.type == type }.map { JSONValue.quoted($0.text) })
        }
        let normal = model.pieces.filter { $0.type == .normal }.map(\.score)
        let (lowest, highest) = (normal.min() ?? 0, normal.max() ?? 0)
        let scores = model.pieces.map { piece in
            piece.type == .userDefined ? Double(piece.text.count) * Double(highest) - 0.1 : Double(piece.score)
        }
        var normalizer = [
            ("type", text(SentencePieceNormalizer.typeName)), ("adds_prefix", flag(model.addsPrefix)),
            ("removes_extra_spaces", flag(model.removesExtraSpaces)), ("marks_ends", flag(model.marksEnds)),
            ("escapes_spaces", flag(model.escapesSpaces)), ("user_defined", texts(.userDefined)),
        ]
        if !model.charsmap.isEmpty { normalizer.append(("precompiled_charsmap", text(Data(model.charsmap).base64EncodedString()))) }
        let decoder = [
            ("type", text(SentencePieceDecoder.typeName)), ("strips_first_space", flag(model.addsPrefix || model.removesExtraSpaces)),
            ("strips_all_first_spaces", flag(model.removesExtraSpaces)), ("unknown", JSONValue.quoted(model.pieces[unknown].text)),
            ("unknown_text", JSONValue.quoted(model.unknownText)), ("control", texts(.control)),
        ]
        let settings = [("bos_token", model.bosID), ("eos_token", model.eosID), ("pad_token", model.padID), ("unk_token", unknown)]
            .filter { model.pieces.indices.contains($0.1) }.map { ($0.0, JSONValue.quoted(model.pieces[$0.1].text)) }
        var settingsOfModel: [(String, [UInt8])] = [("unk_id", Array("\(unknown)".utf8)), ("byte_fallback", flag(model.fallsBackToBytes))]
        let type: String
        switch model.kind {
        case .unigram:
            type = Unigram.typeName
            settingsOfModel += [("mlgraph_unk_score", Array("\(Double(lowest - 10))".utf8)), ("mlgraph_single_precision", flag(true))]
        case .bytePairs, .characters:
            type = ScoredBPE.typeName
            settingsOfModel.append(("user_defined", texts(.userDefined)))
        case .words:
            guard !model.marksEnds else {
                throw TokenizerError.unsupported(path: "SentencePiece model", reason: "a word model with white space as suffix")
            }
            type = MarkedWords.typeName
        }
        return try TokenizerCompiler(
            model: [("type", text(type))] + settingsOfModel,
            members: [
                ("normalizer", TokenizerFiles.object(normalizer)), ("decoder", TokenizerFiles.object(decoder)),
                (TokenizerSettings.key, TokenizerFiles.object(settings)),
            ], vocabulary: vocabulary, scores: type == MarkedWords.typeName ? nil : scores
        ).compile(allowsEqualTokens: true)
    }

    private static func text(_ text: String) -> [UInt8] { JSONValue.quoted(Array(text.utf8)) }
    private static func flag(_ flag: Bool) -> [UInt8] { Array("\(flag)".utf8) }
    private static func list(_ items: [[UInt8]]) -> [UInt8] { [0x5B] + items.joined(separator: [0x2C]) + [0x5D] }
}
