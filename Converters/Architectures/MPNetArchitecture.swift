import GraphIR
import Operators

/// MPNet (Song et al., 2020): RoBERTa without token types, with a bias on attention scores for the distance of two tokens.
struct MPNetArchitecture: EncoderArchitecture {
    static let modelTypes = ["mpnet"]
    static let prefix = "mpnet."
    /// Fixed in the reference implementation, whatever `pad_token_id` says.
    private static let padding = 1

    let encoder: EncoderConfiguration
    /// Rows of the bias table; the first 32 are used.
    let bucketCount: Int
    var maximumPositions: Int? { encoder.positionCount - Self.padding - 1 }

    init(reading reader: inout ConfigurationReader) {
        encoder = EncoderConfiguration(reading: &reader)
        let count = RelativePositionBuckets.mpnet.count
        bucketCount = reader.size("relative_attention_num_buckets", in: count...1 << 16, default: count)
        reader.checkPositions(encoder.positionCount, padding: Self.padding)
    }

    func build(_ head: EncoderHead, labels: Int, in builder: inout EncoderBuilder) throws {
        let inputs = try builder.inputs(hasTokenTypes: false)
        let embedded = try builder.embeddings(inputs, width: encoder.hiddenSize, positions: .afterPadding(Self.padding))
        let bias = try builder.relativePositionBias(
            inputs.tokens, "encoder.relative_attention_bias", .mpnet, rows: bucketCount, heads: encoder.headCount)
        let mask = try builder.graph.apply(Binary(.add), bias, inputs.mask, name: "mask")
        let hidden = try builder.layers(embedded, mask: mask) { layer in
            let prefix = "encoder.layer.\(layer)"
            return LayerNames(
                query: "\(prefix).attention.attn.q", key: "\(prefix).attention.attn.k", value: "\(prefix).attention.attn.v",
                attentionOutput: "\(prefix).attention.attn.o", attentionNorm: "\(prefix).attention.LayerNorm",
                intermediate: "\(prefix).intermediate.dense", output: "\(prefix).output.dense", outputNorm: "\(prefix).output.LayerNorm")
        }
        try builder.robertaHead(head, hidden, labels: labels)
    }
}
