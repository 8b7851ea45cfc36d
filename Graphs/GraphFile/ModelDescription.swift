import JSON

/// What a graph is for and how text goes in and answers come out: the part of a model that is no arithmetic.
public struct ModelDescription: Sendable, Hashable {
    /// What the model answers.
    public enum Task: String, Sendable, Hashable, CaseIterable {
        case classification
        case tokenClassification = "token-classification"
        case embedding
        case maskedLanguageModel = "masked-language-model"
        /// Texts are continued.
        case generation = "text-generation"
        /// A text is answered with another one.
        case sequenceToSequence = "text2text-generation"
        /// Tensors in, tensors out.
        case none
    }

    /// How token vectors become one vector (sentence-transformers' names in parentheses).
    public enum Pooling: String, Sendable, Hashable, CaseIterable {
        /// The first token (`pooling_mode_cls_token`).
        case cls
        /// The mean of the tokens that are no padding (`pooling_mode_mean_tokens`).
        case mean
        /// The largest value of each component (`pooling_mode_max_tokens`).
        case max
        /// The sum divided by the square root of the count (`pooling_mode_mean_sqrt_len_tokens`).
        case meanSqrtLength = "mean-sqrt-length"
        /// The mean weighted by position, 1 for the first (`pooling_mode_weightedmean_tokens`).
        case weightedMean = "weighted-mean"
        /// The last token (`pooling_mode_lasttoken`).
        case lastToken = "last-token"
        /// The graph's output is pooled already.
        case none
    }

    /// The graph inputs that take tokenised text.
    public struct TextInputs: Sendable, Hashable {
        public var ids: String
        public var attentionMask: String?
        public var typeIDs: String?

        public init(ids: String = "input_ids", attentionMask: String? = "attention_mask", typeIDs: String? = nil) {
            self.ids = ids
            self.attentionMask = attentionMask
            self.typeIDs = typeIDs
        }
    }

    /// A named text that is put before an input (`query: `).
    public struct Prompt: Sendable, Hashable {
        public var name: String
        public var text: String

        public init(name: String, text: String) {
            self.name = name
            self.text = text
        }
    }

    public var task: Task
    /// The architecture of a checkpoint (`bert`); nil for ONNX.
    public var architecture: String?
    /// Label by output index.
    public var labels: [String] = []
    /// Every label is decided on its own (sigmoid instead of softmax).
    public var isMultiLabel = false
    /// The one output is a number, no label.
    public var isRegression = false
    public var pooling: Pooling?
    /// Embeddings are scaled to length 1.
    public var normalizesEmbeddings = false
    /// Longest input in tokens, special tokens included.
    public var maximumLength: Int?
    /// The graph output that answers the task.
    public var output: String?
    public var inputs: TextInputs?
    public var prompts: [Prompt] = []
    public var chatTemplate: String?
    /// Of models that write text.
    public var generation: GenerationSettings?

    public init(task: Task) { self.task = task }
}

extension ModelDescription {
    /// The stored form. Absent members have their default; the order is fixed, so equal descriptions give equal text.
    public var json: JSONValue {
        var members: [JSONMember] = [JSONMember(key: "task", value: .string(task.rawValue))]
        func add(_ key: String, _ value: JSONValue?) {
            if let value { members.append(JSONMember(key: key, value: value)) }
        }
        add("architecture", architecture.map { .string($0) })
        add("labels", labels.isEmpty ? nil : .array(labels.map { .string($0) }))
        add("multi_label", isMultiLabel ? true : nil)
        add("regression", isRegression ? true : nil)
        add("pooling", pooling.map { .string($0.rawValue) })
        add("normalize", normalizesEmbeddings ? true : nil)
        add("maximum_length", maximumLength.map { .integer($0) })
        add("output", output.map { .string($0) })
        add("inputs", inputs.map { inputs in
            .object(
                [JSONMember(key: "ids", value: .string(inputs.ids))]
                    + [("attention_mask", inputs.attentionMask), ("type_ids", inputs.typeIDs)].compactMap { key, name in
                        name.map { JSONMember(key: key, value: .string($0)) }
                    })
        })
        add("prompts", prompts.isEmpty ? nil : .object(prompts.map { JSONMember(key: $0.name, value: .string($0.text)) }))
        add("chat_template", chatTemplate.map { .string($0) })
        add("generation", generation?.json)
        return .object(members)
    }

    /// Reads the stored form; members it does not know are left alone, so that a later minor version can add some.
    ///
    /// - Throws: `ModelDescriptionError` naming the member.
    public init(json: JSONValue) throws {
        guard case .object = json else { throw ModelDescriptionError("the description is \(json.kindName), expected an object") }
        func member<Result>(_ key: String, _ kind: String, _ convert: (JSONValue) -> Result?) throws -> Result? {
            guard let value = json[key], !value.isNull else { return nil }
            guard let result = convert(value) else { throw ModelDescriptionError("'\(key)' of the description is not \(kind)") }
            return result
        }
        guard let task = try member("task", "a known task", { $0.stringValue.flatMap(Task.init) }) else {
            throw ModelDescriptionError("the description names no task")
        }
        self.init(task: task)
        architecture = try member("architecture", "a string", \.stringValue)
        labels = try member("labels", "an array of strings") { value in
            value.arrayValue.flatMap { values in
                let strings = values.compactMap(\.stringValue)
                return strings.count == values.count ? strings : nil
            }
        } ?? []
        isMultiLabel = try member("multi_label", "a boolean", \.boolValue) ?? false
        isRegression = try member("regression", "a boolean", \.boolValue) ?? false
        pooling = try member("pooling", "a known pooling") { $0.stringValue.flatMap(Pooling.init) }
        normalizesEmbeddings = try member("normalize", "a boolean", \.boolValue) ?? false
        maximumLength = try member("maximum_length", "a positive whole number") { $0.intValue.flatMap { $0 > 0 ? $0 : nil } }
        output = try member("output", "a string", \.stringValue)
        inputs = try member("inputs", "an object with 'ids'") { value in
            value["ids"]?.stringValue.map {
                TextInputs(ids: $0, attentionMask: value["attention_mask"]?.stringValue, typeIDs: value["type_ids"]?.stringValue)
            }
        }
        prompts = try member("prompts", "an object of strings") { value in
            let prompts = value.members.compactMap { member in member.value.stringValue.map { Prompt(name: member.key, text: $0) } }
            return prompts.count == value.members.count ? prompts : nil
        } ?? []
        chatTemplate = try member("chat_template", "a string", \.stringValue)
        generation = try member("generation", "an object") { value in if case .object = value { value } else { nil } }.map(GenerationSettings.init(json:))
    }
}

/// A description that cannot be read.
public struct ModelDescriptionError: Error, Sendable, Hashable, CustomStringConvertible {
    public let description: String
    init(_ description: String) { self.description = description }
}
