import JSON

/// How the files of one `general.architecture` correspond to a checkpoint of the reference implementation: which metadata are which settings of
/// config.json, and which tensors bear which names. One family a file, in this folder.
struct GGUFArchitecture: Sendable {
    /// A key of the metadata, without the architecture's name before it, and its name in config.json.
    struct Setting: Sendable {
        enum Kind: Sendable { case integer, number, flag }
        let key: String
        let name: String
        let kind: Kind
        let isRequired: Bool

        static func required(_ key: String, _ name: String, _ kind: Kind = .integer) -> Self {
            Self(key: key, name: name, kind: kind, isRequired: true)
        }
        static func optional(_ key: String, _ name: String, _ kind: Kind = .integer) -> Self {
            Self(key: key, name: name, kind: kind, isRequired: false)
        }

        /// What almost all architectures have under the same names.
        static let common: [Self] = [
            .required("context_length", "max_position_embeddings"), .required("embedding_length", "hidden_size"),
            .required("block_count", "num_hidden_layers"), .required("feed_forward_length", "intermediate_size"),
            .required("attention.head_count", "num_attention_heads"), .optional("attention.head_count_kv", "num_key_value_heads"),
            .required("attention.layer_norm_rms_epsilon", "rms_norm_eps", .number), .optional("rope.freq_base", "rope_theta", .number),
        ]
    }

    /// A module's name in the file and in a checkpoint.
    typealias Module = (file: String, checkpoint: String)

    /// The value of `general.architecture`.
    let name: String
    let modelType: String
    let className: String
    let settings: [Setting]
    let modules: [Module]
    /// Where the layers of a checkpoint are: `blk.N.x` is `layers.N.x`.
    let layers: String
    let layerModules: [Module]
    /// Settings that the format implies or spells in another way.
    let complete: @Sendable (inout GGUFConfiguration) -> Void

    static let all: [GGUFArchitecture] = [.llama, .gpt2, .gptneox, .qwen2, .qwen3, .gemma2, .gemma3, .phi3]

    /// The name of a tensor in a checkpoint; nil for one that this architecture does not have.
    func checkpointName(_ name: String) -> String? {
        let parts = name.split(separator: ".", omittingEmptySubsequences: false).map(String.init)
        guard parts.count >= 2, let kind = parts.last, kind == "weight" || kind == "bias" else { return nil }
        if parts[0] == "blk" {
            guard parts.count == 4, let index = Int(parts[1]), String(index) == parts[1],
                let module = layerModules.first(where: { $0.file == parts[2] })
            else { return nil }
            return "\(layers).\(parts[1]).\(module.checkpoint).\(kind)"
        }
        guard parts.count == 2, let module = modules.first(where: { $0.file == parts[0] }) else { return nil }
        return "\(module.checkpoint).\(kind)"
    }
}
