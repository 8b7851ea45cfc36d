import ChatTemplates
import Foundation
import JSON
import TestSupport
import Testing

/// Renderings against Jinja's own, from Tests/Fixtures/chat-templates/make_templates.py.
struct GoldenTests {
    static let folder = Fixtures.folder.appendingPathComponent("chat-templates")

    static func rows(_ url: URL) throws -> [JSONValue] {
        try Data(contentsOf: url).split(separator: 0x0A).map { try JSONParser.parse($0) }
    }

    /// The time that the references were rendered at.
    static let clock = TemplateClock.fixed(year: 2024, month: 7, day: 5, hour: 9, minute: 8, second: 7)

    /// What is wrong with a rendering; nil where it is as the reference.
    static func fault(_ source: String, _ variables: JSONValue, _ row: JSONValue) throws -> String? {
        let rendering: String
        do {
            rendering = try ChatTemplate(source).render(variables, now: #require(clock))
        } catch let error as TemplateError {
            guard let expected = row["error"]?.stringValue else { return "\(error), expected \(row["text"]?.text ?? "")" }
            if error.description.contains("\n") { return "an error of two lines: \(error)" }
            let raised = "TemplateError: "
            guard expected.hasPrefix(raised) else { return nil }
            return error.kind == .raised && error.reason.hasPrefix(expected.dropFirst(raised.count)) ? nil : "\(error), expected \(expected)"
        }
        guard let expected = row["text"]?.stringValue else { return "rendered \(JSONValue.string(rendering).text), expected the error \(row["error"]?.text ?? "")" }
        return expected.utf8.elementsEqual(rendering.utf8) ? nil : "rendered \(JSONValue.string(rendering).text), expected \(JSONValue.string(expected).text)"
    }

    @Test func everyRule() throws {
        let variables = try JSONParser.parse(Data(contentsOf: Self.folder.appendingPathComponent("variables.json")))
        let rows = try Self.rows(Self.folder.appendingPathComponent("cases.jsonl"))
        #expect(rows.count > 1000)
        for row in rows {
            let source = try #require(row["template"]?.stringValue)
            let fault = try Self.fault(source, variables, row)
            #expect(fault == nil, "\(JSONValue.string(source).text): \(fault ?? "")")
        }
    }

    @Test func families() throws {
        var sources: [String: String] = [:]
        let rows = try Self.rows(Self.folder.appendingPathComponent("families.jsonl"))
        #expect(rows.count > 400)
        for row in rows {
            let name = try #require(row["template"]?.stringValue)
            if sources[name] == nil { sources[name] = try String(contentsOf: Self.folder.appendingPathComponent("families/\(name)"), encoding: .utf8) }
            let variables = try #require(row["variables"])
            let fault = try Self.fault(#require(sources[name]), variables, row)
            #expect(fault == nil, "\(name) \(variables.text): \(fault ?? "")")
        }
    }

    @Test(.needsFixture("tokenizers")) func smolLM2() throws {
        let folder = Fixtures.unpacked("tokenizers").appendingPathComponent("smollm2_bpe")
        let template = try ChatTemplate(String(contentsOf: folder.appendingPathComponent("chat_template.jinja"), encoding: .utf8))
        let rows = try Self.rows(folder.appendingPathComponent("chat.jsonl"))
        #expect(rows.count == 12)
        for row in rows {
            let messages = try #require(row["messages"]?.arrayValue).map {
                Conversation.Message(role: try #require($0["role"]?.stringValue), content: try #require($0["content"]?.stringValue))
            }
            let prompts = row["add_generation_prompt"]?.boolValue == true
            #expect(try template.render(Conversation(messages: messages, addGenerationPrompt: prompts)) == row["text"]?.stringValue)
        }
    }
}
