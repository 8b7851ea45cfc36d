import ChatTemplates
import JSON
import Testing

struct ConversationTests {
    @Test func variablesReachTheTemplate() throws {
        let template = try ChatTemplate(
            "{{ bos_token }}{% for m in messages %}{{ m.role }}:{{ m.content }}:{{ m.name }};{% endfor %}{{ tools | tojson }}{{ eos_token }}{{ mood }}{{ add_generation_prompt }}")
        let conversation = Conversation(
            messages: [
                .init(role: "system", content: "s"), .init(role: "tool", content: ["a", 1], extra: [JSONMember(key: "name", value: "n")]),
                .init(role: "assistant", content: .null),
            ], tools: [["type": "function"]], addGenerationPrompt: false, bosToken: "<s>", eosToken: "</s>", extra: [JSONMember(key: "mood", value: "glad")])
        #expect(try template.render(conversation) == "<s>system:s:;tool:['a', 1]:n;assistant:None:;[{\"type\": \"function\"}]</s>gladFalse")
    }

    @Test func absentToolsAndTokens() throws {
        let template = try ChatTemplate("{{ tools is none }} {{ bos_token is defined }} {{ add_generation_prompt }}")
        #expect(try template.render(Conversation(messages: [])) == "True False True")
    }

    @Test func canonicallyEquivalentTextsDiffer() throws {
        let variables: JSONValue = ["a": "\u{E9}", "b": "e\u{301}", "d": ["\u{E9}": 1, "e\u{301}": 2]]
        #expect(try ChatTemplate("{{ a == b }}{{ a in b }}{{ b | length }}{{ d[a] }}{{ d[b] }}{{ [a, b] | unique | list | length }}").render(variables) == "FalseFalse2122")
    }

    @Test func variablesMustBeAnObject() throws {
        let template = try ChatTemplate("a")
        #expect(throws: TemplateError.self) { try template.render([1]) }
    }

    @Test func errorsNameTheLine() throws {
        #expect { try ChatTemplate("a\nb\n{{ 1 + }}") } throws: { ($0 as? TemplateError)?.line == 3 && ($0 as? TemplateError)?.kind == .syntax }
        let template = try ChatTemplate("a\n\n{{ 1\n + none }}")
        #expect { try template.render([:] as JSONValue) } throws: { ($0 as? TemplateError)?.kind == .evaluation && "\($0)".contains("line") }
    }

    @Test func raisedErrorsCarryTheMessage() throws {
        let template = try ChatTemplate("{{ raise_exception('no\nsystem role') }}")
        #expect { try template.render([:] as JSONValue) } throws: {
            ($0 as? TemplateError)?.kind == .raised && "\($0)" == "the chat template refuses the messages: no system role"
        }
    }

    @Test func clocks() throws {
        let template = try ChatTemplate("{{ strftime_now('%a %d %b %Y %j %I%p') }}")
        let leapDay = try #require(TemplateClock.fixed(year: 2000, month: 2, day: 29, hour: 23))
        #expect(try template.render([:] as JSONValue, now: leapDay) == "Tue 29 Feb 2000 060 11PM")
        #expect(TemplateClock.fixed(year: 2023, month: 2, day: 29) == nil)
        #expect(TemplateClock.fixed(year: 2023, month: 13, day: 1) == nil)
        #expect(try ChatTemplate("{{ strftime_now('%Y') | int > 2023 }}").render([:] as JSONValue) == "True")
        #expect(throws: TemplateError.self) { try ChatTemplate("{{ strftime_now('%Q') }}").render([:] as JSONValue) }
    }
}
