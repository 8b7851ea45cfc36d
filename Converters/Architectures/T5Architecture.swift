import GraphIR
import Operators
import Tensors

/// T5 (Raffel et al., 2020), its version 1.1 and FLAN-T5: an encoder, and a decoder that reads its states. The decoder runs without a cache.
struct T5Architecture: Architecture {
    static let modelTypes = ["t5"]
    static let prefix = ""
    static let anchor = "shared.weight"

    let configuration: T5Configuration
    /// Distances between tokens are learned, not positions.
    var maximumPositions: Int? { nil }

    init(reading reader: inout ConfigurationReader) { configuration = T5Configuration(reading: &reader) }

    func build(_ head: EncoderDecoderHead, labels: Int, in builder: inout ModelBuilder<T5Configuration>) throws {
        let type = TensorType(.i64, [.symbol("batch"), .symbol("sequence")])
        let tokens = builder.graph.input("input_ids", type)
        let mask = try builder.paddingMask(builder.graph.input("attention_mask", type, default: .ones))
        let encoded = try builder.t5Encoder(tokens, mask, output: head == .encoder ? "last_hidden_state" : "encoder_last_hidden_state")
        switch head {
        case .encoder: builder.graph.output("last_hidden_state", encoded)
        case .sequenceToSequence:
            let target = builder.graph.input("decoder_input_ids", TensorType(.i64, [.symbol("batch"), .symbol("decoder_sequence")]))
            var hidden = try builder.t5Decoder(target, encoded, mask)
            if configuration.scalesOutput {
                let scale = try builder.graph.scalar(1 / Double(configuration.hiddenSize).squareRoot(), .f32)
                hidden = try builder.graph.apply(Binary(.mul), hidden, scale, name: "lm_head")
            }
            // Version 1.1 has a matrix of its own, though its configurations do not always say so.
            let matrix = try builder.weights.tiedMatrix(
                "lm_head.weight", to: "shared.weight", isTied: true, warns: false, [configuration.vocabularySize, configuration.hiddenSize],
                in: &builder.graph)
            let logits = try builder.graph.apply(Linear(layout: .output_input), hidden, matrix, name: "lm_head", output: "logits")
            builder.graph.output("logits", logits)
        }
        // Copies of the shared table, which old checkpoints have.
        for name in ["encoder.embed_tokens.weight", "decoder.embed_tokens.weight"] { builder.weights.ignore(name, .base) }
    }
}

/// The sizes of T5.
struct T5Configuration: ModelSizes {
    let vocabularySize: Int
    let hiddenSize: Int
    let normEpsilon: Float
    let headCount: Int
    let headSize: Int
    let intermediateSize: Int
    let encoderLayerCount: Int
    let decoderLayerCount: Int
    let activation: Activation
    /// The feed-forward network multiplies by a second projection.
    let isGated: Bool
    let bucketCount: Int
    let maximumDistance: Int
    /// States are divided by the root of the hidden size before the output matrix.
    let scalesOutput: Bool

    init(reading reader: inout ConfigurationReader) {
        vocabularySize = reader.size("vocab_size", in: 1...1 << 26)
        hiddenSize = reader.size("d_model", in: 1...1 << 16)
        normEpsilon = Float(reader.fraction("layer_norm_epsilon", default: 1e-6))
        headCount = reader.size("num_heads", in: 1...1 << 12)
        headSize = reader.size("d_kv", in: 1...1 << 12)
        intermediateSize = reader.size("d_ff", in: 1...1 << 20)
        encoderLayerCount = reader.size("num_layers", in: 1...1024)
        decoderLayerCount = reader.size("num_decoder_layers", in: 1...1024, default: encoderLayerCount)
        (activation, isGated) = reader.feedForward()
        bucketCount = reader.size("relative_attention_num_buckets", in: 4...1 << 12, default: 32)
        maximumDistance = reader.size("relative_attention_max_distance", in: 2...1 << 16, default: 128)
        // The older form says it by not tying the output matrix, which is what version 1.1 does.
        let isTied = reader.flag("tie_word_embeddings", default: true)
        scalesOutput = reader.flag("scale_decoder_outputs", default: isTied)
        if reader.hasSizes, ![true, false].allSatisfy({ buckets(isBidirectional: $0).isValid }) {
            reader.reportSizes("relative_attention_max_distance \(maximumDistance) is too small for \(bucketCount) buckets")
        }
        if reader.flag("is_decoder", default: false) { reader.report(.unsupported, "is_decoder is true: a T5 decoder alone is not supported") }
        reader.refuseQuantization()
    }

    func buckets(isBidirectional: Bool) -> RelativePositionBuckets {
        RelativePositionBuckets(count: bucketCount, maximumDistance: maximumDistance, isBidirectional: isBidirectional)
    }
}

extension ConfigurationReader {
    /// `feed_forward_proj` is an activation's name, with "gated-" before it or not; `dense_act_fn` and `is_gated_act` say the same again.
    fileprivate mutating func feedForward() -> (activation: Activation, isGated: Bool) {
        let name = string("feed_forward_proj") ?? "relu"
        let bare = name.removingPrefix("gated-")
        let isGated = flag("is_gated_act", default: bare != nil)
        if has("dense_act_fn") { return (activation("dense_act_fn") ?? .relu, isGated) }
        // The tanh form is what the checkpoints were trained with that say this.
        if name == "gated-gelu" { return (.gelu_tanh, isGated) }
        return (activation(bare ?? name, "feed_forward_proj") ?? .relu, isGated)
    }
}
