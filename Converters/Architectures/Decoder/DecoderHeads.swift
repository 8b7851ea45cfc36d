import GraphIR
import Operators

extension DecoderBuilder {
    /// Outputs what the head asks for, of the states behind the last norm.
    ///
    /// - Parameters:
    ///   - embedding: The table of word embeddings, `[vocabulary, width]` with the width of `hidden`.
    ///   - matrix: The output matrix where it is not the table.
    ///   - softcap: The bound that logits are pressed under, `softcap * tanh(logits / softcap)`; 0 for none.
    mutating func outputs(
        _ head: DecoderHead, _ hidden: ValueID, embedding: String, matrix: String = "lm_head", softcap: Float = 0
    ) throws {
        switch head {
        case .hiddenState: graph.output("last_hidden_state", hidden)
        case .languageModel:
            let weight = try weights.tiedMatrix(
                "\(matrix).weight", to: "\(embedding).weight", isTied: configuration.isTied,
                [configuration.vocabularySize, innerWidth(hidden)], in: &graph)
            let op = Linear(layout: .output_input)
            guard softcap > 0 else {
                graph.output("logits", try graph.apply(op, hidden, weight, name: matrix, output: "logits"))
                return
            }
            let logits = try graph.apply(op, hidden, weight, name: matrix)
            let divided = try graph.apply(Binary(.div), logits, try graph.scalar(Double(softcap), .f32), name: "softcap")
            let bounded = try graph.apply(Unary(.tanh), divided, name: "softcap")
            graph.output("logits", try graph.apply(Binary(.mul), bounded, try graph.scalar(Double(softcap), .f32), name: "softcap", output: "logits"))
        }
    }
}
