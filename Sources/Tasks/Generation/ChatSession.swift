import ChatTemplates
import Foundation
import GraphFile
import JSON
import Tokenizers

/// A conversation with a language model in the words of its own chat template. What earlier turns have computed is kept.
///
///     let chat = try ChatSession(LanguageModel(contentsOf: url))
///     let answer = try chat.send("What is a graph?") { print($0.text, terminator: "") }
///
/// Not `Sendable`: one task at a time talks.
public final class ChatSession {
    public let model: LanguageModel
    private let template: ChatTemplate
    private let tokenizer: Tokenizer
    private let sequence: TokenSequence
    /// Leaves out the oldest turns when the context is full; otherwise that is an error.
    public var shiftsContext: Bool
    /// What was said, the system message first where there is one.
    public private(set) var messages: [Conversation.Message] = []
    /// Turns that were left out of the last prompt.
    public private(set) var forgottenMessages = 0

    /// - Throws: `TaskError` where the model has no tokenizer or no chat template, `TemplateError` for a broken one.
    public init(_ model: LanguageModel, system: String? = nil, shiftsContext: Bool = false) throws {
        guard let tokenizer = model.tokenizer else {
            throw TaskError(.unsuitableModel, "the model holds no tokenizer, so it cannot chat; convert it again with --tokenizer PATH")
        }
        guard let source = model.description.chatTemplate ?? tokenizer.settings.chatTemplate else {
            throw TaskError(.unsuitableModel, "the model has no chat template: it continues texts but was not made to chat; use 'generate', or a model that chats (-m NAME; 'make models' fetches smollm2)")
        }
        self.model = model
        self.tokenizer = tokenizer
        self.shiftsContext = shiftsContext
        template = try ChatTemplate(source)
        sequence = try model.makeSequence()
        setSystem(system)
    }

    /// Starts anew with that system message, or none.
    public func setSystem(_ text: String?) {
        messages = text.map { [.init(role: "system", content: $0)] } ?? []
        forgottenMessages = 0
    }

    /// Forgets what was said; the system message stays.
    public func reset() { setSystem(system) }

    /// The system message.
    public var system: String? { messages.first.flatMap { $0.role == "system" ? $0.content.stringValue : nil } }

    /// The prompt that the template makes of messages, up to where the answer begins.
    ///
    /// - Throws: `TemplateError`; of kind `raised` where the template refuses the messages.
    public func prompt(_ messages: [Conversation.Message]) throws -> String {
        func token(_ id: Int?, _ role: RoleToken?) -> String? { role?.content ?? id.flatMap { tokenizer.token(of: $0) } }
        return try template.render(
            Conversation(
                messages: messages, bosToken: token(model.settings.beginToken, tokenizer.settings.bosToken),
                eosToken: token(model.settings.endTokens.first, tokenizer.settings.eosToken)))
    }

    /// Says something and gives the answer. After an error, or an answer that was cut by cancellation, the conversation is as it was before
    /// or holds the part that was said.
    ///
    /// - Throws: `TaskError` of kind `contextFull` where the conversation does not fit any more.
    public func send(
        _ text: String, options: GenerationOptions = GenerationOptions(), body: (GeneratedPiece) throws -> Void = { _ in },
        isCancelled: () -> Bool = { false }
    ) throws -> GeneratedText {
        let asked = messages + [.init(role: "user", content: text)]
        let (ids, forgotten) = try fit(asked)
        let answer = try sequence.generate(ids, options: options, body: body, isCancelled: isCancelled)
        forgottenMessages = forgotten
        messages = asked + [.init(role: "assistant", content: answer.text)]
        return answer
    }

    /// Tokens of the prompt; with `shiftsContext` without as many of the oldest turns as it takes to leave a quarter of the context to the answer.
    private func fit(_ all: [Conversation.Message]) throws -> (ids: [Int], forgotten: Int) {
        let head = all.prefix { $0.role == "system" }
        var rest = Array(all.dropFirst(head.count))
        var forgotten = 0
        while true {
            let ids = try tokenizer.encode(try prompt(head + rest), addSpecialTokens: false).ids.map { Int($0) }
            let limit = shiftsContext && forgotten > 0 ? model.contextLength * 3 / 4 : model.contextLength - 1
            if ids.count <= limit { return (ids, forgotten) }
            // The last message is what was just said.
            guard shiftsContext, rest.count > 1 else {
                throw TaskError(
                    .contextFull, "the conversation has \(ids.count) tokens and does not fit the context of \(model.contextLength); "
                        + (shiftsContext ? "shorten the message" : "reset it, use a larger context, or let the oldest turns be forgotten (--context-shift)"))
            }
            // A question goes with its answer.
            let count = rest.dropFirst().firstIndex { $0.role == "user" } ?? rest.count - 1
            rest.removeSubrange(..<min(count, rest.count - 1))
            forgotten += min(count, all.count)
        }
    }

    /// The conversation as JSON, an array of `{"role","content"}`.
    public var json: JSONValue {
        .array(messages.map { .object([JSONMember(key: "role", value: .string($0.role)), JSONMember(key: "content", value: $0.content)] + $0.extra) })
    }
}
