/// A special token by its role.
public struct RoleToken: Sendable, Equatable {
    public let content: String
    /// Nil when the tokenizer has no such token.
    public let id: Int?
}

/// What the files beside a `tokenizer.json` say about it. Everything is optional, as it is there.
public struct TokenizerSettings: Sendable, Equatable {
    public let padToken: RoleToken?
    public let unknownToken: RoleToken?
    public let clsToken: RoleToken?
    public let sepToken: RoleToken?
    public let maskToken: RoleToken?
    public let bosToken: RoleToken?
    public let eosToken: RoleToken?
    /// The longest input of the model in tokens; nil when the file has none or the placeholder for "unlimited".
    public let modelMaxLength: Int?
    /// The chat template in Jinja.
    public let chatTemplate: String?

    /// Reads the member `mlgraph_settings` that the compiler adds from the side files.
    init(_ json: ComponentJSON, table: TokenTable) throws {
        let side = json.value[Self.key]
        func role(_ name: String) -> RoleToken? {
            // In special_tokens_map.json a token is a string or an object with its flags.
            guard let value = side?[name], let content = value.bytes ?? value["content"]?.bytes else { return nil }
            return RoleToken(content: String(decoding: content, as: UTF8.self), id: table.id(of: content).map(Int.init))
        }
        padToken = role("pad_token")
        unknownToken = role("unk_token")
        clsToken = role("cls_token")
        sepToken = role("sep_token")
        maskToken = role("mask_token")
        bosToken = role("bos_token")
        eosToken = role("eos_token")
        modelMaxLength = side?["model_max_length"]?.int.flatMap { $0 > 0 && $0 <= 1 << 30 ? $0 : nil }
        chatTemplate = side?["chat_template"]?.string
    }

    static let key = "mlgraph_settings"
    /// The members of the side files that are kept.
    static let names = [
        "pad_token", "unk_token", "cls_token", "sep_token", "mask_token", "bos_token", "eos_token", "model_max_length",
        "chat_template",
    ]
}
