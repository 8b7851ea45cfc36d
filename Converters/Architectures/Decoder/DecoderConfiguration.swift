import Operators

/// The sizes that every decoder has, under one set of names.
struct DecoderConfiguration: ModelSizes, Hashable {
    let vocabularySize: Int
    /// The longest sequence that the configuration allows; rows of the position table where there is one.
    let positionCount: Int
    let hiddenSize: Int
    let layerCount: Int
    let headCount: Int
    /// Heads of keys and values, each shared by as many query heads (Ainslie et al., 2023, "GQA").
    let keyValueHeadCount: Int
    let headSize: Int
    let intermediateSize: Int
    let activation: Activation
    let normEpsilon: Float
    /// The output matrix is the word embedding.
    let isTied: Bool

    /// The score's factor of "Attention Is All You Need", section 3.2.1.
    var standardScale: Float { 1 / Float(headSize).squareRoot() }

    /// How config.json calls them, and what is meant where a key is absent; nil: the key is required.
    struct Keys {
        struct Size: ExpressibleByStringLiteral {
            let name: String
            let fallback: Int?

            init(_ name: String, default fallback: Int?) {
                self.name = name
                self.fallback = fallback
            }

            init(stringLiteral name: String) { self.init(name, default: nil) }
        }
        var vocabularySize: Size = "vocab_size"
        var positionCount: Size = "max_position_embeddings"
        var hiddenSize: Size = "hidden_size"
        var layerCount: Size = "num_hidden_layers"
        var headCount: Size = "num_attention_heads"
        /// nil: as many as query heads. A null means the same.
        var keyValueHeadCount: Size? = "num_key_value_heads"
        /// nil: the hidden size divided among the heads. A null, or a key that is absent without a default, means the same.
        var headSize: Size? = "head_dim"
        /// A null, or a key that is absent without a default, stands for four times the hidden size where `isIntermediateSizeDerived`.
        var intermediateSize: Size = "intermediate_size"
        var isIntermediateSizeDerived = false
        var activation = "hidden_act"
        var defaultActivation = Activation.silu
        /// nil: not configurable.
        var normEpsilon: String? = "rms_norm_eps"
        var defaultNormEpsilon = 1e-6
        var defaultIsTied = false
    }

    init(reading reader: inout ConfigurationReader, keys: Keys = Keys()) {
        func size(_ key: Keys.Size, _ limit: Int) -> Int { reader.size(key.name, in: 1...limit, default: key.fallback) }
        vocabularySize = size(keys.vocabularySize, 1 << 26)
        positionCount = size(keys.positionCount, 1 << 28)
        hiddenSize = size(keys.hiddenSize, 1 << 16)
        layerCount = size(keys.layerCount, 1024)
        headCount = size(keys.headCount, 1 << 12)
        let ownHeadSize = keys.headSize.flatMap { reader.sizeOrNone($0.name, in: 1...1 << 12, default: $0.fallback) }
        headSize = ownHeadSize ?? max(1, hiddenSize / headCount)
        if reader.hasSizes, ownHeadSize == nil, hiddenSize % headCount != 0 {
            reader.reportSizes("\(keys.hiddenSize.name) \(hiddenSize) is no multiple of \(keys.headCount.name) \(headCount)")
        }
        keyValueHeadCount =
            keys.keyValueHeadCount.flatMap { reader.sizeOrNone($0.name, in: 1...1 << 12, default: $0.fallback) } ?? headCount
        if reader.hasSizes, headCount % keyValueHeadCount != 0 {
            reader.reportSizes("\(keys.headCount.name) \(headCount) is no multiple of num_key_value_heads \(keyValueHeadCount)")
        }
        intermediateSize =
            keys.isIntermediateSizeDerived
            ? reader.sizeOrNone(keys.intermediateSize.name, in: 1...1 << 20, default: nil) ?? 4 * hiddenSize : size(keys.intermediateSize, 1 << 20)
        activation = reader.activation(keys.activation) ?? keys.defaultActivation
        normEpsilon = Float(keys.normEpsilon.map { reader.fraction($0, default: keys.defaultNormEpsilon) } ?? keys.defaultNormEpsilon)
        isTied = reader.flag("tie_word_embeddings", default: keys.defaultIsTied)
        reader.refuseVariants()
    }
}

extension ConfigurationReader {
    /// Options that change the computation and that no part here builds.
    fileprivate mutating func refuseVariants() {
        for key in ["add_cross_attention", "is_encoder_decoder"] where flag(key, default: false) {
            report(.unsupported, "\(key) is true: a decoder that reads another model's states is not supported")
        }
        if flag("use_bidirectional_attention", default: false) {
            report(.unsupported, "use_bidirectional_attention is true: attention to later tokens is not supported")
        }
        if !isEmpty("pruned_heads") { report(.unsupported, "pruned_heads names attention heads that were removed, which is not supported") }
        // Layers without rotary positions, as SmolLM3 and Llama 4 have them.
        if !array("no_rope_layers").isEmpty { report(.unsupported, "no_rope_layers: layers without rotary positions are not supported") }
        refuseQuantization()
    }

    /// Options that the reference implementation of this family does not have: given with another value than these, the checkpoint was
    /// made for something else.
    mutating func refuseFlags(_ keys: String...) {
        for key in keys where flag(key, default: false) {
            report(.unsupported, "\(key) is true, which this architecture does not have")
        }
    }
}
