import GGUFConverter
import Tokenizers

extension GGUFVocabulary {
    /// The vocabulary in a GGUF file; nil where there is none.
    ///
    /// - Throws: `GGUFError` for keys whose values cannot be.
    init?(_ file: GGUFFile) throws {
        func value<Result>(_ key: String, _ expected: String, _ convert: (GGUFValue) throws -> Result?) throws -> Result? {
            guard let value = file.value(key) else { return nil }
            guard let result = try convert(value) else {
                throw GGUFError(path: file.path, place: .key(key), reason: "is \(value.kindName), expected \(expected)")
            }
            return result
        }
        func text(_ key: String) throws -> String? { try value(key, "a string", \.stringValue) }
        func token(_ name: String) throws -> Int? { try value("tokenizer.ggml.\(name)_token_id", "a token id", \.intValue) }
        func flag(_ name: String) throws -> Bool? { try value("tokenizer.ggml.\(name)", "a boolean", \.boolValue) }
        func array<Element>(_ name: String, _ read: (GGUFArray) throws -> [Element]) throws -> [Element]? {
            try value("tokenizer.ggml.\(name)", "an array") { try $0.arrayValue.map(read) }
        }
        guard let model = try text("tokenizer.ggml.model"), model != "none",
            let tokens = try array("tokens", { try $0.byteStrings() })
        else { return nil }
        self.init(model: model, tokens: tokens)
        pre = try text("tokenizer.ggml.pre")
        scores = try array("scores") { try $0.floats() } ?? []
        types = try array("token_type") { try $0.integers().map { Int32(clamping: $0) } } ?? []
        merges = try array("merges") { try $0.byteStrings() } ?? []
        charsmap = try array("precompiled_charsmap") { try $0.integers().map { UInt8(truncatingIfNeeded: $0) } } ?? []
        bosID = try token("bos")
        eosID = try token("eos")
        eotID = try token("eot")
        eomID = try token("eom")
        unknownID = try token("unknown")
        separatorID = try token("seperator")
        paddingID = try token("padding")
        maskID = try token("mask")
        addsBOS = try flag("add_bos_token")
        addsEOS = try flag("add_eos_token")
        addsSeparator = try flag("add_sep_token")
        addsSpacePrefix = try flag("add_space_prefix")
        removesExtraWhitespace = try flag("remove_extra_whitespaces")
        lowercases = try flag("normalizer.lowercase")
        stripsAccents = try flag("normalizer.strip_accents")
        chatTemplate = try text("tokenizer.chat_template")
        modelName = file.value("general.name")?.stringValue
        architecture = file.value("general.architecture")?.stringValue
        contextLength = architecture.flatMap { file.value("\($0).context_length")?.intValue }
    }
}
