import Foundation
import GraphFile
import JSON
import Runtime
import Tasks
import Tensors
import TestSupport
import Testing

/// The language model that ships, against transformers with the same weights.
@Suite struct TinyGPT2Tests {
    private static let models = Fixtures.folder.deletingLastPathComponent().deletingLastPathComponent().appendingPathComponent("Models")
    private static let graph = models.appendingPathComponent("tiny-gpt2/tiny-gpt2.graph")

    private struct Case {
        let prompt: String
        let ids: [Int]
        let greedy: [Int]
    }

    private static func cases() throws -> [Case] {
        let json = try JSONParser.parse(Data(contentsOf: Fixtures.folder.appendingPathComponent("references/tiny-gpt2.json")))
        return (json["prompts"]?.arrayValue ?? []).map { row in
            func ids(_ key: String) -> [Int] { (row[key]?.arrayValue ?? []).compactMap(\.intValue) }
            return Case(prompt: row["prompt"]?.stringValue ?? "", ids: ids("ids"), greedy: ids("greedy"))
        }
    }

    @Test func logits() throws {
        let cases = try Self.cases()
        let references = Fixtures.folder.appendingPathComponent("references/tiny-gpt2.safetensors")
        let tensor = try SafetensorsFile(contentsOf: references).tensor(named: "logits")
        try #require(cases.count == 6 && tensor.shape == [6, 4096])
        let expected = tensor.floats()
        let file = try GraphFile(contentsOf: Self.graph)
        let executor = try Executor(graph: file.graph)
        for (row, one) in cases.enumerated() {
            let ids = try Tensor(integers: one.ids.map { Int64($0) }, shape: [1, one.ids.count])
            let output = try #require(try executor.run(["input_ids": ids])["logits"])
            let logits = Array(output.floats().suffix(4096))
            let largest = zip(logits, expected[(row * 4096)...]).map { abs($0 - $1) }.max() ?? .infinity
            #expect(logits.count == 4096 && largest < 1e-4, "\(one.prompt): \(largest)")
        }
    }

    @Test func greedyContinuations() throws {
        let generator = try TextGenerator(contentsOf: Self.graph)
        var options = GenerationOptions()
        options.sampling = .greedy
        options.maximumTokens = 32
        options.ignoresEndTokens = true
        for one in try Self.cases() {
            #expect(try generator.encode(one.prompt) == one.ids)
            #expect(try generator.generate(ids: [one.ids], options: options).first?.ids == one.greedy, "\(one.prompt)")
        }
    }
}
