/// A SentencePiece model file (`tokenizer.model`, `spiece.model`): the protocol buffer `ModelProto`, of which the parts are read
/// that say how texts are encoded.
///
/// Source: sentencepiece_model.proto of SentencePiece.
struct SentencePieceModel {
    enum Kind: UInt64 {
        case unigram = 1
        case bytePairs, words, characters
    }

    struct Piece {
        var text: [UInt8] = []
        var score: Float = 0
        /// The numbers are those of GGUF.
        var type = GGUFVocabulary.TokenType.normal
    }

    private(set) var pieces: [Piece] = []
    private(set) var kind = Kind.unigram
    private(set) var marksEnds = false
    private(set) var fallsBackToBytes = false
    private(set) var unknownText: [UInt8] = Array(" \u{2047} ".utf8)
    private(set) var charsmap: [UInt8] = []
    private(set) var addsPrefix = true
    private(set) var removesExtraSpaces = true
    private(set) var escapesSpaces = true
    /// Ids of the tokens with a role; below 0 = none.
    private(set) var bosID = 1
    private(set) var eosID = 2
    private(set) var padID = -1

    init(_ bytes: [UInt8]) throws {
        try ProtocolBuffer(bytes[...]).forEachField { number, value in
            switch (number, value) {
            case (1, .bytes(let bytes)):
                pieces.append(try Self.piece(bytes, id: pieces.count))
                guard pieces.count <= Int(VocabularySource.maximumID) else { throw Self.invalid("pieces", "more than \(VocabularySource.maximumID)") }
            case (2, .bytes(let bytes)): try readTrainer(bytes)
            case (3, .bytes(let bytes)): try readNormalizer(bytes)
            default: break
            }
        }
        guard !pieces.isEmpty else { throw Self.invalid("pieces", "none; is this a SentencePiece model?") }
    }

    static func invalid(_ key: String, _ reason: String) -> TokenizerError { .invalid(path: "SentencePiece model." + key, reason: reason) }

    private static func piece(_ bytes: ArraySlice<UInt8>, id: Int) throws -> Piece {
        var piece = Piece()
        try ProtocolBuffer(bytes).forEachField { number, value in
            switch (number, value) {
            case (1, .bytes(let text)): piece.text = Array(text)
            case (2, .fixed32(let bits)): piece.score = Float(bitPattern: bits)
            case (3, .integer(let type)):
                guard let known = UInt8(exactly: type).flatMap(GGUFVocabulary.TokenType.init), known != .undefined else {
                    throw invalid("pieces[\(id)]", "type \(type) is not known")
                }
                piece.type = known
            default: break
            }
        }
        guard !piece.text.isEmpty, piece.text.withUnsafeBufferPointer({ UTF8Bytes.firstInvalid($0) }) == nil, piece.score.isFinite else {
            throw invalid("pieces[\(id)]", "the text is empty or not UTF-8, or the score is not finite")
        }
        return piece
    }

    private mutating func readTrainer(_ bytes: ArraySlice<UInt8>) throws {
        try ProtocolBuffer(bytes).forEachField { number, value in
            switch (number, value) {
            case (3, .integer(let type)):
                guard let known = Kind(rawValue: type) else { throw Self.invalid("model_type", "\(type) is not known") }
                kind = known
            case (24, .integer(let flag)): marksEnds = flag != 0
            case (35, .integer(let flag)): fallsBackToBytes = flag != 0
            case (41, .integer(let id)): bosID = Int(Int32(truncatingIfNeeded: id))
            case (42, .integer(let id)): eosID = Int(Int32(truncatingIfNeeded: id))
            case (43, .integer(let id)): padID = Int(Int32(truncatingIfNeeded: id))
            case (44, .bytes(let text)): unknownText = Array(text)
            default: break
            }
        }
    }

    private mutating func readNormalizer(_ bytes: ArraySlice<UInt8>) throws {
        try ProtocolBuffer(bytes).forEachField { number, value in
            switch (number, value) {
            case (2, .bytes(let map)): charsmap = Array(map)
            case (3, .integer(let flag)): addsPrefix = flag != 0
            case (4, .integer(let flag)): removesExtraSpaces = flag != 0
            case (5, .integer(let flag)): escapesSpaces = flag != 0
            default: break
            }
        }
    }
}

/// The fields of one message in the wire format of Protocol Buffers.
struct ProtocolBuffer {
    enum Value {
        case integer(UInt64)
        case fixed64(UInt64)
        case fixed32(UInt32)
        case bytes(ArraySlice<UInt8>)
    }

    private let bytes: ArraySlice<UInt8>

    init(_ bytes: ArraySlice<UInt8>) { self.bytes = bytes }

    /// Calls `body` with each field, in order.
    func forEachField(_ body: (_ number: UInt64, _ value: Value) throws -> Void) throws {
        var rest = bytes
        while !rest.isEmpty {
            let key = try Self.variable(&rest)
            switch key & 7 {
            case 0: try body(key >> 3, .integer(try Self.variable(&rest)))
            case 1: try body(key >> 3, .fixed64(try Self.fixed(&rest)))
            case 2:
                guard let count = Int(exactly: try Self.variable(&rest)), count <= rest.count else { throw Self.damaged(rest) }
                try body(key >> 3, .bytes(rest.prefix(count)))
                rest = rest.dropFirst(count)
            case 5: try body(key >> 3, .fixed32(try Self.fixed(&rest)))
            default: throw Self.damaged(rest)
            }
        }
    }

    private static func damaged(_ rest: ArraySlice<UInt8>) -> TokenizerError {
        SentencePieceModel.invalid("byte \(rest.startIndex)", "damaged or cut off")
    }

    private static func variable(_ rest: inout ArraySlice<UInt8>) throws -> UInt64 {
        var value: UInt64 = 0
        for shift in stride(from: UInt64(0), to: 70, by: 7) {
            guard let byte = rest.popFirst() else { throw damaged(rest) }
            value |= UInt64(byte & 0x7F) << shift
            if byte < 0x80 { return value }
        }
        throw damaged(rest)
    }

    private static func fixed<Number: FixedWidthInteger>(_ rest: inout ArraySlice<UInt8>) throws -> Number {
        let count = MemoryLayout<Number>.size
        guard rest.count >= count else { throw damaged(rest) }
        let value = rest.prefix(count).reversed().reduce(Number(0)) { $0 << 8 | Number($1) }
        rest = rest.dropFirst(count)
        return value
    }
}
