import GraphIR
import Operators

/// GPT-Neo (Black et al., 2021): GPT-2 with windows on some layers and scores that are not scaled.
struct GPTNeoArchitecture: DecoderArchitecture {
    static let modelTypes = ["gpt_neo"]
    static let prefix = "transformer."
    static let anchor = "wte.weight"

    let decoder: DecoderConfiguration
    let windows: [Int]
    var maximumPositions: Int? { decoder.positionCount }

    init(reading reader: inout ConfigurationReader) {
        var keys = DecoderConfiguration.Keys()
        keys.layerCount = "num_layers"
        keys.headCount = "num_heads"
        keys.keyValueHeadCount = nil
        keys.headSize = nil
        keys.isIntermediateSizeDerived = true
        keys.activation = "activation_function"
        keys.defaultActivation = .gelu_tanh
        keys.normEpsilon = "layer_norm_epsilon"
        keys.defaultNormEpsilon = 1e-5
        keys.defaultIsTied = true
        decoder = DecoderConfiguration(reading: &reader, keys: keys)
        windows = reader.localWindows(layers: decoder.layerCount)
    }

    func build(_ head: DecoderHead, in builder: inout DecoderBuilder) throws {
        let inputs = try builder.inputs()
        let words = try builder.embedding(inputs.tokens, "wte", [decoder.vocabularySize, decoder.hiddenSize])
        var hidden = try builder.graph.apply(Binary(.add), words, try builder.learnedPositions(inputs, "wpe"), name: "wpe")
        for (layer, window) in windows.enumerated() {
            let (name, attention) = ("h.\(layer)", "h.\(layer).attn.attention")
            let operands = try builder.separateOperands(
                try builder.norm(hidden, "\(name).ln_1"), "\(attention).q_proj", "\(attention).k_proj", "\(attention).v_proj", hasBias: false)
            let context = try builder.attention(operands, inputs, layer: layer, AttentionForm(scale: 1, window: window), attention)
            let attended = try builder.linear(context, "\(attention).out_proj", to: decoder.hiddenSize, residual: hidden)
            let inner = try builder.linear(
                try builder.norm(attended, "\(name).ln_2"), "\(name).mlp.c_fc", to: decoder.intermediateSize, decoder.activation)
            hidden = try builder.linear(inner, "\(name).mlp.c_proj", to: decoder.hiddenSize, residual: attended)
        }
        try builder.outputs(head, try builder.norm(hidden, "ln_f", output: "last_hidden_state"), embedding: "wte")
    }
}

extension ConfigurationReader {
    /// `attention_types` is a list of `[[kinds of layers], repetitions]`; local layers see `window_size` positions.
    fileprivate mutating func localWindows(layers: Int) -> [Int] {
        let window = size("window_size", in: 1...1 << 28, default: 256)
        guard has("attention_types") else { return (0..<layers).map { $0 % 2 == 0 ? 0 : window } }
        var kinds: [String] = []
        for group in array("attention_types") {
            guard let parts = group.arrayValue, parts.count == 2, let names = parts[0].arrayValue?.map(\.stringValue),
                let count = parts[1].intValue, (0...layers).contains(count), kinds.count + count * names.count <= layers
            else {
                report(.configuration, "attention_types is no list of [[kinds], repetitions] for \(layers) layers")
                return Array(repeating: 0, count: layers)
            }
            for _ in 0..<count { kinds += names.map { $0 ?? "" } }
        }
        if kinds.count != layers { report(.configuration, "attention_types is for \(kinds.count) layers, there are \(layers)") }
        for kind in Set(kinds).sorted() where kind != "global" && kind != "local" {
            report(.unsupported, "attention_types has \(quoted(kind)), known are global, local")
        }
        return kinds.map { $0 == "local" ? window : 0 }
    }
}
