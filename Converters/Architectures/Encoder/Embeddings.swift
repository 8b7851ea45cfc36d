import GraphIR
import Operators
import Tensors

/// What a model is given, and the mask that follows from it.
struct EncoderInputs {
    /// i64 `[batch, sequence]`.
    let tokens: ValueID
    /// f32 `[batch, 1, 1, sequence]`, added to attention scores.
    let mask: ValueID
    /// i64 `[batch, sequence]`; nil for an architecture without token types.
    let tokenTypes: ValueID?

    var all: [ValueID?] { [tokens, mask, tokenTypes] }
}

/// How positions are counted.
enum PositionRule {
    /// 0, 1, 2, ... whatever the tokens are.
    case fromZero
    /// Counted over the tokens that are not padding, from `padding + 1` on; padding itself has the position `padding` (fairseq).
    case afterPadding(Int)
}

extension EncoderBuilder {
    /// Declares the inputs `input_ids`, `attention_mask` (all ones where left out) and, for an architecture that has them,
    /// `token_type_ids` (all zeros).
    mutating func inputs(hasTokenTypes: Bool) throws -> EncoderInputs {
        let type = TensorType(.i64, [.symbol("batch"), .symbol("sequence")])
        let tokens = graph.input("input_ids", type)
        let attention = graph.input("attention_mask", type, default: .ones)
        let tokenTypes = hasTokenTypes ? graph.input("token_type_ids", type, default: .zeros) : nil
        return EncoderInputs(tokens: tokens, mask: try paddingMask(attention), tokenTypes: tokenTypes)
    }

    /// The normalised sum of word, position and token type embeddings, `[batch, sequence, width]`.
    mutating func embeddings(
        _ inputs: EncoderInputs, width: Int, positions rule: PositionRule, typeCount: Int = 0
    ) throws -> ValueID {
        let words = try embedding(inputs.tokens, "embeddings.word_embeddings", [configuration.vocabularySize, width])
        let types = try inputs.tokenTypes.map { try embedding($0, "embeddings.token_type_embeddings", [typeCount, width]) }
        let positions = try embedding(
            try positionIDs(inputs.tokens, rule), "embeddings.position_embeddings", [configuration.positionCount, width])
        var addends = [types, positions].compactMap { $0 }
        // The norm adds one operand of its own, if it has the full shape: positions from zero are the same for the whole batch.
        let last = addends.lastIndex { graph.type($0).rank == graph.type(words).rank }
        let residual = last.map { addends.remove(at: $0) }
        let sum = try addends.reduce(words) { try graph.apply(Binary(.add), $0, $1, name: "embeddings") }
        return try norm(sum, "embeddings.LayerNorm", residual: residual)
    }

    /// `[sequence]` for positions from zero, `[batch, sequence]` for those that depend on the tokens.
    private mutating func positionIDs(_ tokens: ValueID, _ rule: PositionRule) throws -> ValueID {
        let name = "position_ids"
        switch rule {
        case .fromZero: return try range(over: tokens, name: name)
        case .afterPadding(let padding):
            let padding = try graph.scalar(Double(padding), .i64)
            let isToken = try graph.apply(Compare(.not_equal), tokens, padding, name: name)
            let ones = try graph.apply(Cast(to: .i64), isToken, name: name)
            let counts = try graph.apply(CumSum(axis: 1), ones, name: name)
            let masked = try graph.apply(Binary(.mul), counts, ones, name: name)
            return try graph.apply(Binary(.add), masked, padding, name: name, output: name)
        }
    }
}
