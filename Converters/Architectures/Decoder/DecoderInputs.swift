import GraphIR
import Operators
import Tensors

typealias EncoderBuilder = ModelBuilder<EncoderConfiguration>
typealias DecoderBuilder = ModelBuilder<DecoderConfiguration>

/// What a decoder is given, all i64 `[batch, sequence]`.
struct DecoderInputs {
    let tokens: ValueID
    /// 1 for a token, 0 for padding.
    let mask: ValueID
    /// Counted over the tokens that are no padding, those in the cache included.
    let positions: ValueID
}

extension DecoderBuilder {
    /// Declares the inputs `input_ids` and `attention_mask` (all ones where left out), both for the new tokens only.
    mutating func inputs() throws -> DecoderInputs {
        let type = TensorType(.i64, [.symbol("batch"), .symbol("sequence")])
        let tokens = graph.input("input_ids", type)
        let mask = graph.input("attention_mask", type, default: .ones)
        let positions = try graph.apply(CachePositions(), tokens, mask, name: "position_ids", output: "position_ids")
        return DecoderInputs(tokens: tokens, mask: mask, positions: positions)
    }

    /// The sum of word and position embeddings, `[batch, sequence, hidden]`, of a model that learns its positions.
    ///
    /// - Parameter offset: Rows of the table before position 0.
    mutating func learnedPositions(_ inputs: DecoderInputs, _ name: String, offset: Int = 0) throws -> ValueID {
        var rows = inputs.positions
        if offset > 0 { rows = try graph.apply(Binary(.add), rows, try graph.scalar(Double(offset), .i64), name: name) }
        return try embedding(rows, name, [configuration.positionCount + offset, configuration.hiddenSize])
    }
}
