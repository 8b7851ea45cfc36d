import JSON

/// A chat template: the Jinja text beside a tokenizer that turns messages into the prompt a model was trained on.
///
/// Renders as `transformers` does: Jinja's immutable sandbox with `trim_blocks`, `lstrip_blocks`, loop controls and `{% generation %}`,
/// its `tojson`, and the functions `raise_exception` and `strftime_now`. What Jinja has and this has not is an error, never another
/// rendering. Templates come with models of any origin, so size, depth and time are bounded.
public struct ChatTemplate: Sendable {
    private let statements: [Statement]

    /// - Throws: `TemplateError` where the template is not well-formed or larger or deeper than any real one.
    public init(_ source: String) throws { statements = try TemplateParser.parse(source) }

    /// Renders with free variables.
    ///
    /// - Parameters:
    ///   - variables: An object; its members are the template's variables.
    ///   - now: What `strftime_now` takes for the time.
    ///   - maximumSteps: How much work the template may do: expressions, statements, and 16 bytes of text each.
    /// - Throws: `TemplateError`; of kind `raised` where the template itself refuses the messages.
    public func render(_ variables: JSONValue, now: TemplateClock = .current, maximumSteps: Int = 2_000_000) throws -> String {
        guard case .object(let members) = variables else {
            throw TemplateError(.evaluation, line: 1, "the variables are \(variables.kindName), not an object")
        }
        var scope = Scope()
        for member in members { scope.set(member.key, try TemplateValue(member.value)) }
        return try Interpreter(variables: scope, now: now, maximumSteps: maximumSteps).render(statements)
    }

    /// Renders messages.
    ///
    /// - Throws: `TemplateError`; of kind `raised` where the template itself refuses the messages.
    public func render(_ conversation: Conversation, now: TemplateClock = .current) throws -> String { try render(conversation.variables, now: now) }
}

/// What a chat template is rendered with.
public struct Conversation: Sendable, Hashable {
    public struct Message: Sendable, Hashable {
        /// `system`, `user`, `assistant`, `tool` or what else the template knows.
        public var role: String
        /// Text, or the parts of a message with several; null where an assistant only calls tools.
        public var content: JSONValue
        /// Members that some templates read, such as `tool_calls` and `name`.
        public var extra: [JSONMember]

        public init(role: String, content: JSONValue, extra: [JSONMember] = []) {
            self.role = role
            self.content = content
            self.extra = extra
        }

        public init(role: String, content: String) { self.init(role: role, content: .string(content)) }
    }

    public var messages: [Message]
    /// Descriptions of functions, as JSON schemas; nil where the model gets none.
    public var tools: [JSONValue]?
    /// Whether the prompt ends where the assistant's answer begins.
    public var addGenerationPrompt: Bool
    /// The tokenizer's special tokens that templates write.
    public var bosToken: String?
    public var eosToken: String?
    /// Further variables of the template, such as `enable_thinking` or `documents`.
    public var extra: [JSONMember]

    public init(
        messages: [Message], tools: [JSONValue]? = nil, addGenerationPrompt: Bool = true, bosToken: String? = nil, eosToken: String? = nil,
        extra: [JSONMember] = []
    ) {
        self.messages = messages
        self.tools = tools
        self.addGenerationPrompt = addGenerationPrompt
        self.bosToken = bosToken
        self.eosToken = eosToken
        self.extra = extra
    }

    /// The template's variables: `messages`, `tools`, `add_generation_prompt`, `bos_token`, `eos_token` and the further ones.
    public var variables: JSONValue {
        let values = messages.map { message in
            JSONValue.object([JSONMember(key: "role", value: .string(message.role)), JSONMember(key: "content", value: message.content)] + message.extra)
        }
        var members = [
            JSONMember(key: "messages", value: .array(values)),
            JSONMember(key: "tools", value: tools.map { .array($0) } ?? .null),
            JSONMember(key: "add_generation_prompt", value: .bool(addGenerationPrompt)),
        ]
        if let bosToken { members.append(JSONMember(key: "bos_token", value: .string(bosToken))) }
        if let eosToken { members.append(JSONMember(key: "eos_token", value: .string(eosToken))) }
        return .object(members + extra)
    }
}
