import ChatTemplates
import Foundation
import JSON
import Synchronization
import TestSupport
import Testing

/// Templates that want to run for ever, fill the memory or overflow the stack. All run on threads with a small stack.
@Suite(.serialized) struct HostileTests {
    /// Of a secondary thread on macOS.
    private static let stackSize = 512 << 10

    private static func onSmallStack<Result: Sendable>(_ body: @escaping @Sendable () -> Result) -> Result? {
        let result = Mutex<Result?>(nil)
        withExtendedLifetime(DispatchSemaphore(value: 0)) { done in
            let thread = Thread {
                let value = body()
                result.withLock { $0 = value }
                done.signal()
            }
            thread.stackSize = stackSize
            thread.start()
            done.wait()
        }
        return result.withLock { $0 }
    }

    /// The error of a template; nil where it renders.
    private static func error(_ source: String, _ variables: JSONValue = [:], maximumSteps: Int = 2_000_000) -> TemplateError? {
        onSmallStack {
            do {
                _ = try ChatTemplate(source).render(variables, maximumSteps: maximumSteps)
                return TemplateError?.none
            } catch { return error as? TemplateError ?? TemplateError(.syntax, line: 0, "another error: \(error)") }
        } ?? nil
    }

    private static func repeated(_ text: String, _ count: Int = 20_000) -> String { String(repeating: text, count: count) }

    static let endless: [String] = [
        // Time
        "{% for a in range(100000) %}{% for b in range(100000) %}{% endfor %}{% endfor %}",
        "{% for a in range(100000) %}{{ 'x' * 1000 }}{% endfor %}",
        "{% set s = 'ab' * 400000 %}{% for a in range(1000) %}{{ s[-1] }}{% endfor %}",
        "{% set s = 'a' * 800000 %}{{ s.find('a' * 400000 ~ 'b') }}",
        "{% set s = 'a' * 800000 %}{{ s.split('a' * 400000 ~ 'b') | length }}",
        "{% set s = 'a' * 800000 %}{{ s.rfind('a' * 400000 ~ 'b') }}",
        "{{ range(100000) | unique | list }}",
        "{% set ns = namespace(l=[0]) %}{% for i in range(100000) %}{% set ns.l = ns.l + [i] %}{% endfor %}",
        "{% set ns = namespace(s='') %}{% for i in range(100000) %}{% set ns.s = ns.s ~ 'abcdefgh' %}{% endfor %}",
        // Memory
        "{{ 'a' * 1000000000000 }}", "{{ [1] * 1000000000000 }}", "{{ [0] * 9223372036854775807 }}", "{{ 'ab' * 9223372036854775807 }}",
        "{% set ns = namespace(s='aaaaaaaa') %}{% for i in range(60) %}{% set ns.s = ns.s ~ ns.s %}{% endfor %}",
        "{% set ns = namespace(l=[1]) %}{% for i in range(60) %}{% set ns.l = ns.l + ns.l %}{% endfor %}",
        "{% set ns = namespace(l=[1]) %}{% for i in range(60) %}{% set ns.l = [ns.l, ns.l] %}{% endfor %}{{ ns.l }}",
        "{% set ns = namespace(l=[1]) %}{% for i in range(60) %}{% set ns.l = {'a': ns.l, 'b': ns.l} %}{% endfor %}{{ ns.l == ns.l }}",
        "{% set ns = namespace(l=[]) %}{% for i in range(1000) %}{% set ns.l = ns.l + ['a' * 16000000] %}{% endfor %}",
        "{{ range(1000000000000) }}", "{{ range(-9223372036854775807, 9223372036854775807) }}",
        "{{ ('a' * 1000000).replace('a', 'b' * 1000000) }}", "{{ ('a' * 1000000).replace('', 'b' * 1000000) }}",
        "{{ ('b' * 1000000).join('a' * 1000000) }}", "{{ ('a' * 100000) | join('b' * 1000000) }}",
        "{{ ('\n' * 1000000) | indent('b' * 1000000) }}", "{{ 'a' | center(1000000000000) }}", "{{ 'a'.zfill(9223372036854775807) }}",
        "{{ [1] | batch(1000000000000, 1) | list }}", "{{ [1] | slice(1000000000000) | list }}", "{{ '%999999999d' % 1 }}",
        "{{ [[1]] | tojson(indent=1000000000000) }}", "{{ 1.5 | round(1000000000000) }}", "{{ ('&' * 4000000) | e }}",
        "{% for i in range(100) %}{% set x %}{{ 'a' * 10000000 }}{% endset %}{% endfor %}",
        // Stack
        "{% macro m() %}{{ m() }}{% endmacro %}{{ m() }}",
        "{% macro a() %}{% if true %}{{ b() }}{% endif %}{% endmacro %}{% macro b() %}{{ [a()] }}{% endmacro %}{{ a() }}",
        "{% macro m() %}{{ caller() }}{% call m() %}{% endcall %}{% endmacro %}{% call m() %}{% endcall %}",
        "{{ 'a' | map(" + Array(repeating: "'map'", count: 200).joined(separator: ", ") + ") }}",
        "{% macro m(f) %}{{ f(f) }}{% endmacro %}{{ m(m) }}",
        "{% macro m(a=m()) %}{% endmacro %}{{ m() }}",
        "{% for x in [1] recursive %}{{ loop([1]) }}{% endfor %}",
        "{% macro m() %}{% filter upper %}{{ m() }}{% endfilter %}{% endmacro %}{{ m() }}",
        "{% macro m(l) %}{{ m([l]) }}{% endmacro %}{{ m([]) }}",
        "{% set ns = namespace(l=[]) %}{% for i in range(1000) %}{% set ns.l = [ns.l] %}{% endfor %}{{ ns.l }}",
        "{% set ns = namespace(l=[]) %}{% for i in range(1000) %}{% set ns.l = ns.l | batch(1) %}{% set ns.l = [ns.l] %}{% endfor %}",
        "{% for x in [1] %}" + (0..<200).map { "{% macro m\($0)() %}{% endmacro %}" }.joined() + "{% endfor %}",
        repeated("x", 2 << 20),
    ]

    /// Few steps, so that the tests are fast; a template that never ends uses up any number.
    private static let fewSteps = 100_000

    @Test(arguments: endless) func boundedTime(_ source: String) throws {
        let start = Date()
        let error = try #require(Self.error(source, maximumSteps: Self.fewSteps))
        #expect(error.kind == .limit, "\(error)")
        #expect(!error.description.contains("\n"))
        #expect(Date().timeIntervalSince(start) < 60)
    }

    /// The bound that templates have when nobody says otherwise.
    @Test func boundedTimeByDefault() throws {
        let error = try #require(Self.error("{% for a in range(100000) %}{{ 'x' * 1000 }}{% endfor %}"))
        #expect(error.kind == .limit && error.description.contains("2000000 steps"), "\(error)")
    }

    static let deep: [String] = [
        "{{ " + repeated("(") + "1" + repeated(")") + " }}", "{{ " + repeated("[") + "1" + repeated("]") + " }}", "{{ " + repeated("{1: ") + "1" + repeated("}") + " }}",
        "{{ " + repeated("-") + "1 }}", "{{ " + repeated("not ") + "1 }}", "{{ 1" + repeated(" + 1") + " }}", "{{ 1" + repeated(" and 1") + " }}",
        "{{ 1" + repeated(" < 1") + " }}", "{{ 1" + repeated(" ** 1") + " }}", "{{ a" + repeated(".a") + " }}", "{{ a" + repeated("[0]") + " }}",
        "{{ a" + repeated("()") + " }}", "{{ 1" + repeated(" | abs") + " }}", "{{ 1" + repeated(" is odd is odd") + " }}", "{{ 1" + repeated(" if 1 else 1") + " }}",
        "{{ 1" + repeated(" if 1") + " }}", "{{ a" + repeated("(a") + repeated(")") + " }}", "{{ 1" + repeated(" | default(1") + repeated(")") + " }}",
        "{{ a" + repeated("[a") + repeated("]") + " }}", repeated("{% if 1 %}", 10_000) + repeated("{% endif %}", 10_000),
        repeated("{% for a in b %}", 10_000), repeated("{% macro a() %}", 10_000), repeated("{% set a %}", 10_000), repeated("{% filter upper %}", 10_000),
        repeated("{% generation %}", 10_000), "{% for " + repeated("(") + "a in b %}{% endfor %}", repeated("{% if 1 %}{% else %}", 10_000),
    ]

    @Test(arguments: deep.indices) func boundedNesting(_ index: Int) throws {
        let error = try #require(Self.error(Self.deep[index]))
        #expect(error.kind == .limit || error.kind == .syntax, "\(error)")
        #expect(!error.description.contains("\n"))
    }

    /// Long is not deep.
    @Test func longTemplatesRender() throws {
        #expect(Self.error(Self.repeated("{{ 1 }}")) == nil)
        #expect(Self.error("{% if 0 %}" + Self.repeated("{% elif 0 %}", 20_000) + "{% endif %}") == nil)
        #expect(Self.error("{{ 'a'" + Self.repeated(" ~ 'a'") + " }}") == nil)
        #expect(Self.error("{{ [1" + Self.repeated(", 1") + "] | sum }}") == nil)
        #expect(Self.error("{{ 1" + Self.repeated(" + 1", 60) + " }}") == nil)
    }

    /// As deep as is allowed must fit on the stack, in what costs the most of it.
    @Test func deepestAllowedFits() throws {
        for inner in ["m(n - 1)", "[m(n - 1)][0]", "m(n - 1) | trim", "(m(n - 1) if n)", "'a' ~ m(n - 1)", "1 + (m(n - 1) | length)", "(not m(n - 1))", "[1] | map('default', m(n - 1)) | list", "m(n=n - 1)[0:]", "(m(n - 1) is defined)"] {
            for wrapped in ["{{ \(inner) }}", "{% for x in [1] if \(inner) %}{% endfor %}", "{% set x %}{{ \(inner) }}{% endset %}", "{% if \(inner) %}{% endif %}", "{% with a = \(inner) %}{% endwith %}", "{% filter trim %}{{ \(inner) }}{% endfilter %}"] {
                let error = try #require(Self.error("{% macro m(n) %}\(wrapped)a{% endmacro %}{{ m(10000) }}"))
                #expect(error.kind == .limit, "\(inner): \(error)")
            }
        }
        // Values as deep as is allowed, at the greatest depth of evaluation.
        let values = "{% set ns = namespace(v=1, w=1) %}{% for i in range(60) %}{% set ns.v = [ns.v] %}{% set ns.w = [ns.w] %}{% endfor %}"
        for use in ["ns.v | string", "ns.v | tojson", "ns.v == ns.w", "ns.v < ns.w", "ns.v in [ns.w]", "[ns.v] | map('tojson') | list", "'%s' % ns.v", "{'a': ns.v}"] {
            var count = 0
            while Self.error(values + "{% macro m(n) %}{% if n %}{{ m(n - 1) }}{% else %}{% set x = \(use) %}{% endif %}{% endmacro %}{{ m(\(count)) }}") == nil { count += 1 }
            #expect(count > 10, "\(use)")
        }
    }

    @Test func deepMessagesAreRefused() throws {
        var value: JSONValue = 1
        for _ in 0..<200 { value = [value] }
        #expect(Self.error("{{ a }}", .object([JSONMember(key: "a", value: value)]))?.kind == .limit)
    }

    /// Names and texts come from the template.
    @Test(arguments: ["{{ 'a'['up\r\n']() }}", "{{ raise_exception('one\u{2028}two\u{85}') }}", "{% no\u{1}such %}", "{{ 'a' | no\nsuch }}"])
    func errorsAreOneLine(source: String) throws {
        let error = try #require(Self.error(source))
        #expect(error.description.unicodeScalars.allSatisfy { !CharacterSet.controlCharacters.union(.newlines).contains($0) })
    }

    @Test func damagedTemplates() throws {
        let files = try FileManager.default.contentsOfDirectory(at: GoldenTests.folder.appendingPathComponent("families"), includingPropertiesForKeys: nil)
        let samples = try files.sorted { $0.path < $1.path }.map { Array(try Data(contentsOf: $0)) }
            + GoldenTests.rows(GoldenTests.folder.appendingPathComponent("cases.jsonl")).compactMap { $0["template"]?.stringValue.map { Array($0.utf8) } }
        let variables = try GoldenTests.rows(GoldenTests.folder.appendingPathComponent("families.jsonl")).prefix(40).compactMap { $0["variables"] }
        var fuzzer = Fuzzer(samples: samples)
        var count = 0
        let rendered = fuzzer.run { bytes in
            count += 1
            let source = String(decoding: bytes, as: UTF8.self)
            if let error = Self.error(source, variables[count % variables.count], maximumSteps: Self.fewSteps) {
                #expect(!error.reason.hasPrefix("another error") && !error.description.utf8.contains(0x0A), "\(JSONValue.string(source).text): \(error)")
            }
        }
        #expect(rendered > 0)
    }
}
