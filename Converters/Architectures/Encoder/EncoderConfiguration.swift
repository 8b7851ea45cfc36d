import Operators

/// The sizes that every encoder has, under one set of names.
struct EncoderConfiguration: ModelSizes, Hashable {
    let vocabularySize: Int
    /// Rows of the position table.
    let positionCount: Int
    let hiddenSize: Int
    let layerCount: Int
    let headCount: Int
    let intermediateSize: Int
    let activation: Activation
    let normEpsilon: Float
    /// The output matrix of a masked language model is the word embedding.
    let isDecoderTied: Bool

    var headSize: Int { hiddenSize / headCount }

    /// How config.json calls them.
    struct Keys {
        var hiddenSize = "hidden_size"
        var layerCount = "num_hidden_layers"
        var headCount = "num_attention_heads"
        var intermediateSize = "intermediate_size"
        var activation = "hidden_act"
        /// nil: not configurable.
        var normEpsilon: String? = "layer_norm_eps"
    }

    init(reading reader: inout ConfigurationReader, keys: Keys = Keys(), defaultActivation: Activation = .gelu) {
        vocabularySize = reader.size("vocab_size", in: 1...1 << 26)
        positionCount = reader.size("max_position_embeddings", in: 1...1 << 22)
        hiddenSize = reader.size(keys.hiddenSize, in: 1...1 << 16)
        layerCount = reader.size(keys.layerCount, in: 1...1024)
        headCount = reader.size(keys.headCount, in: 1...1 << 12)
        intermediateSize = reader.size(keys.intermediateSize, in: 1...1 << 20)
        activation = reader.activation(keys.activation) ?? defaultActivation
        // The original implementations' value for configurations that are older than the key.
        normEpsilon = Float(keys.normEpsilon.map { reader.fraction($0, default: 1e-12) } ?? 1e-12)
        isDecoderTied = reader.flag("tie_word_embeddings", default: true)
        if reader.hasSizes, hiddenSize % headCount != 0 {
            reader.reportSizes("\(keys.hiddenSize) \(hiddenSize) is no multiple of \(keys.headCount) \(headCount)")
        }
        reader.refuseVariants()
    }
}

extension ConfigurationReader {
    /// Options of the reference implementation that change the computation and that no part here builds.
    fileprivate mutating func refuseVariants() {
        if flag("is_decoder", default: false) { report(.unsupported, "is_decoder is true: a causal decoder, not an encoder") }
        if flag("add_cross_attention", default: false) {
            report(.unsupported, "add_cross_attention is true: cross attention is not supported")
        }
        if let kind = string("position_embedding_type"), kind != "absolute" {
            report(.unsupported, "position_embedding_type is \(quoted(kind)), known is absolute")
        }
        if !isEmpty("pruned_heads") { report(.unsupported, "pruned_heads names attention heads that were removed, which is not supported") }
        refuseQuantization()
    }
}
