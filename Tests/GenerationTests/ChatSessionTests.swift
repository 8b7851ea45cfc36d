import JSON
import TestSupport
import Testing

@testable import Tasks

@Suite struct ChatSessionTests {
    private static let template = "{% for m in messages %}{{ m.role[0] }}:{{ m.content }};{% endfor %}{% if add_generation_prompt %}a:{% endif %}"

    private func session(system: String? = nil, shifts: Bool = false) throws -> ChatSession {
        try ChatSession(try ToyModel.load { $0.chatTemplate = Self.template }, system: system, shiftsContext: shifts)
    }

    @Test func turnsGoThroughTheTemplate() throws {
        let chat = try session(system: "S")
        let first = try chat.send("hi", options: TextGeneratorTests.options(3, seed: 1))
        #expect(chat.messages.map(\.role) == ["system", "user", "assistant"])
        #expect(chat.messages.last?.content.stringValue == first.text)
        #expect(try chat.prompt(chat.messages) == "s:S;u:hi;a:\(first.text);a:")
        let second = try chat.send("you", options: TextGeneratorTests.options(3, seed: 1))
        // The same as a prompt of its own.
        let generator = TextGenerator(model: chat.model)
        let whole = try generator.generate("s:S;u:hi;a:\(first.text);u:you;a:", options: TextGeneratorTests.options(3, seed: 1))
        #expect(second.ids == whole.ids)
        #expect(second.statistics.reusedTokens > 0)
        chat.reset()
        #expect(chat.messages.map(\.role) == ["system"] && chat.system == "S")
        chat.setSystem(nil)
        #expect(chat.messages.isEmpty && chat.json == .array([]))
    }

    @Test func aFullContextIsAnErrorThatChangesNothing() throws {
        let chat = try session()
        _ = try chat.send(String(repeating: "x", count: 30), options: TextGeneratorTests.options(1, seed: 1))
        let before = chat.messages
        let error = #expect(throws: TaskError.self) { _ = try chat.send(String(repeating: "y", count: 20), options: TextGeneratorTests.options(1, seed: 1)) }
        #expect(error?.kind == .contextFull)
        #expect(chat.messages == before)
    }

    @Test func shiftingForgetsTheOldestTurns() throws {
        let chat = try session(system: "S", shifts: true)
        for index in 0..<6 { _ = try chat.send(String(repeating: "\(index)", count: 12), options: TextGeneratorTests.options(2, seed: 1)) }
        #expect(chat.forgottenMessages > 0)
        #expect(chat.messages.count == 13)
        // One message that is too long by itself cannot be helped.
        let error = #expect(throws: TaskError.self) { _ = try chat.send(String(repeating: "z", count: 60), options: TextGeneratorTests.options(1, seed: 1)) }
        #expect(error?.kind == .contextFull)
    }

    @Test func modelsThatCannotChatSaySo() throws {
        #expect(throws: TaskError.self) { _ = try ChatSession(ToyModel.load()) }
        #expect(throws: TaskError.self) { _ = try ChatSession(ToyModel.load(hasTokenizer: false) { $0.chatTemplate = Self.template }) }
    }
}
