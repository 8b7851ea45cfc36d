import Foundation
import JSON
import TestSupport
import Testing

/// `mlrun classify` with the embedded default model.
@Suite struct ClassifyToolTests {
    let mlrun: ToolRunner
    init() throws { mlrun = try ToolRunner("mlrun") }

    @Test func classifiesWithoutFurtherArguments() throws {
        let result = try mlrun.run("classify", "I love this")
        #expect(result.status == 0, "\(result.errorOutput)")
        let fields = try #require(result.lines.first).split(separator: "\t")
        #expect(fields.count == 3)
        #expect(fields[0] == "positive")
        #expect(try #require(Double(fields[1])) > 0.5)
        #expect(fields[2] == "I love this")
    }

    @Test func jsonHasThePromisedKeys() throws {
        let result = try mlrun.run("classify", "--json", input: "I love this\nI hate this\n")
        #expect(result.status == 0, "\(result.errorOutput)")
        let answers = try result.lines.map { try JSONParser.parse($0) }
        #expect(answers.map { $0["label"]?.stringValue } == ["positive", "negative"])
        for answer in answers {
            #expect(answer.members.map(\.key) == ["text", "label", "confidence", "scores"])
            let scores = try #require(answer["scores"]).members
            #expect(Set(scores.map(\.key)) == ["negative", "neutral", "positive"])
            let total = scores.compactMap(\.value.doubleValue).reduce(0, +)
            #expect(abs(total - 1) < 1e-5)
            #expect(scores.first?.value.doubleValue == answer["confidence"]?.doubleValue)
        }
    }

    @Test func topAndAllShowMoreLabels() throws {
        #expect(try mlrun.run("classify", "--top", "2", "fine").lines.first?.split(separator: "\t").count == 5)
        #expect(try mlrun.run("classify", "--all", "fine").lines.first?.split(separator: "\t").count == 7)
    }

    @Test(arguments: ["", "\u{1}\u{2}\u{7}", "\u{200B}\u{FEFF}", "   \t "])
    func emptyAndInvisibleTextsHaveAnAnswer(text: String) throws {
        let result = try mlrun.run("classify", "--json", "--", text)
        #expect(result.status == 0, "\(result.errorOutput)")
        #expect(try JSONParser.parse(try #require(result.lines.first))["text"]?.stringValue == text)
    }

    @Test func aMegabyteIsCutAndSaysSo() throws {
        let result = try mlrun.run("classify", input: String(repeating: "word ", count: 200_000) + "\n")
        #expect(result.status == 0)
        #expect(result.errorOutput.contains("tokens beyond the model's length"))
        #expect(result.lines.count == 1)
    }

    @Test func invalidUTF8OnStdinNamesTheLineAfterAnsweringTheOthers() throws {
        let result = try mlrun.run(["classify"], input: Data("good\n".utf8) + Data([0x66, 0xFF, 0xFE, 0x0A]))
        #expect(result.status == 1)
        #expect(result.errorOutput == "mlrun: line 2 of standard input is not valid UTF-8; convert it first, for example with iconv\n")
        #expect(result.lines.count == 1)
    }

    @Test func aBadLineOfJSONLIsNamedAndTheGoodOnesAreAnsweredOnce() throws {
        let tokenizer = Fixtures.folder.appendingPathComponent("categorium-topics/vocab.txt").path
        let result = try mlrun.run("tokenize", "--tokenizer", tokenizer, "--jsonl", input: "{\"text\":\"a\"}\n{\"text\":\"b\"}\n{\"txt\":1}\n")
        #expect(result.status == 1)
        #expect(result.lines.count == 2)
        #expect(result.errorOutput == "mlrun: line 3 has no string \"text\"\n")
    }

    @Test func batchEqualsOneByOne() throws {
        let texts = ["good", "What a terrible, terrible day this has been for all of us who came here", "It arrived on Tuesday."]
        let together = try mlrun.run("classify", "--json", input: texts.joined(separator: "\n") + "\n").lines
        let alone = try texts.map { try mlrun.run("classify", "--json", $0).lines[0] }
        for (a, b) in zip(together, alone) {
            let x = try JSONParser.parse(a)
            let y = try JSONParser.parse(b)
            #expect(x["label"] == y["label"])
            #expect(abs((x["confidence"]?.doubleValue ?? 0) - (y["confidence"]?.doubleValue ?? 1)) < 1e-5)
        }
    }

    @Test func modelsThatDoNotFitAreNamed() throws {
        let missing = try mlrun.run("classify", "-m", "no-such-model", "x")
        #expect(missing.status == 1)
        #expect(missing.errorOutput.contains("there is no file 'no-such-model' and no model of that name"))
        let wrong = try mlrun.run("embed", "-m", "sentiment", "x")
        #expect(wrong.status == 1)
        #expect(wrong.errorOutput.contains("is made for classification, not embedding"))
    }
}
