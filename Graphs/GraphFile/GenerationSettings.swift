import JSON

/// How a language model generates: its special tokens, its context, and the sampling that its makers recommend
/// (`generation_config.json` of a checkpoint, the metadata of a GGUF file).
public struct GenerationSettings: Sendable, Hashable {
    /// Any of these ends a text.
    public var endTokens: [Int] = []
    /// Stands before a text.
    public var beginToken: Int?
    public var paddingToken: Int?
    /// What the decoder of a model that reads and writes begins with.
    public var decoderStartToken: Int?
    /// Positions, prompt included, that the model was trained on.
    public var contextLength: Int?
    /// Draws from the distribution; otherwise the most likely token is taken.
    public var isSampled = false
    public var temperature: Float?
    public var topK: Int?
    public var topP: Float?
    public var minP: Float?
    public var repetitionPenalty: Float?
    /// The most tokens to generate.
    public var maximumNewTokens: Int?

    public init() {}
}

extension GenerationSettings {
    /// The stored form. Absent members have their default.
    var json: JSONValue {
        var members: [JSONMember] = []
        func add(_ key: String, _ value: JSONValue?) {
            if let value { members.append(JSONMember(key: key, value: value)) }
        }
        add("end_tokens", endTokens.isEmpty ? nil : .array(endTokens.map { .integer($0) }))
        add("begin_token", beginToken.map { .integer($0) })
        add("padding_token", paddingToken.map { .integer($0) })
        add("decoder_start_token", decoderStartToken.map { .integer($0) })
        add("context_length", contextLength.map { .integer($0) })
        add("sampled", isSampled ? true : nil)
        add("temperature", temperature.map { .float($0) })
        add("top_k", topK.map { .integer($0) })
        add("top_p", topP.map { .float($0) })
        add("min_p", minP.map { .float($0) })
        add("repetition_penalty", repetitionPenalty.map { .float($0) })
        add("maximum_new_tokens", maximumNewTokens.map { .integer($0) })
        return .object(members)
    }

    /// - Throws: `ModelDescriptionError` naming the member.
    init(json: JSONValue) throws {
        func member<Result>(_ key: String, _ kind: String, _ convert: (JSONValue) -> Result?) throws -> Result? {
            guard let value = json[key], !value.isNull else { return nil }
            guard let result = convert(value) else { throw ModelDescriptionError("'\(key)' of the generation settings is not \(kind)") }
            return result
        }
        func token(_ key: String) throws -> Int? { try member(key, "a token id") { $0.intValue.flatMap { $0 >= 0 ? $0 : nil } } }
        func count(_ key: String) throws -> Int? { try member(key, "a positive whole number") { $0.intValue.flatMap { $0 > 0 ? $0 : nil } } }
        func number(_ key: String) throws -> Float? {
            try member(key, "a number of at least 0") { $0.doubleValue.flatMap { $0 >= 0 && $0.isFinite ? Float($0) : nil } }
        }
        endTokens = try member("end_tokens", "an array of token ids") { value in
            value.arrayValue.flatMap { values in
                let ids = values.compactMap(\.intValue).filter { $0 >= 0 }
                return ids.count == values.count ? ids : nil
            }
        } ?? []
        beginToken = try token("begin_token")
        paddingToken = try token("padding_token")
        decoderStartToken = try token("decoder_start_token")
        contextLength = try count("context_length")
        isSampled = try member("sampled", "a boolean", \.boolValue) ?? false
        temperature = try number("temperature")
        topK = try member("top_k", "a whole number of at least 0") { $0.intValue.flatMap { $0 >= 0 ? $0 : nil } }
        topP = try number("top_p")
        minP = try number("min_p")
        repetitionPenalty = try number("repetition_penalty")
        maximumNewTokens = try count("maximum_new_tokens")
    }
}
