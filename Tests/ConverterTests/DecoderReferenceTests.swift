import Architectures
import Foundation
import GraphIR
import Operators
import Optimizer
import Runtime
import SafetensorsConverter
import Tensors
import TestSupport
import Testing

/// Decoders against what the reference implementation answers, where a token stands.
@Suite struct DecoderReferenceTests {
    static let corpus = [
        "gpt2-causal-lm", "llama-causal-lm", "llama-causal-lm/checkpoint-bf16", "llama-causal-lm/checkpoint-fp16",
        "llama-causal-lm/checkpoint-sharded", "qwen2-causal-lm", "t5-encoder-decoder",
    ]
    static let folder = Fixtures.unpacked("decoders")
    static let generated = (try? FileManager.default.contentsOfDirectory(atPath: folder.path))?.sorted() ?? []

    @Test(.needsFixture("decoders")) func allGeneratedCheckpointsAreThere() { #expect(Self.generated.count == 38) }

    @Test(.needsFixture("corpus"), arguments: corpus)
    func corpusCheckpoint(_ name: String) throws {
        let folder = Fixtures.unpacked("corpus").appendingPathComponent(name)
        let own = folder.appendingPathComponent("cases.safetensors")
        let shared = folder.deletingLastPathComponent().appendingPathComponent("cases.safetensors")
        let cases = CheckpointCases(
            file: try SafetensorsFile(contentsOf: FileManager.default.fileExists(atPath: own.path) ? own : shared))
        let compared = try compare(folder, cases) { number in
            // Cases with a past come later; those whose padding has positions of its own mean another model than ours.
            let inputs = cases.file.entry(named: "case\(number).position_ids") != nil
            return try Self.isPlain(cases, number) && (inputs || !name.hasPrefix("gpt2") || !Self.isLeftPadded(cases, number))
        }
        #expect(compared >= 5)
    }

    @Test(.needsFixture("decoders"), arguments: generated)
    func generatedCheckpoint(_ name: String) throws {
        let folder = Self.folder.appendingPathComponent(name)
        let cases = CheckpointCases(file: try SafetensorsFile(contentsOf: folder.appendingPathComponent("cases.safetensors")))
        // Of the two lists of divisors one graph has one: the short one up to 16 positions.
        let isLong = name == "phi3-long"
        let compared = try compare(folder, cases) { !isLong || (try cases.length($0)) <= 16 }
        #expect(compared == (isLong ? 4 : cases.count))
        if isLong {
            #expect(try compare(folder, cases, length: 64) { try cases.length($0) > 16 } == 2)
        }
    }

    /// Compares the graph as imported and as optimised, both by the operators' definitions and by the executor.
    private func compare(_ folder: URL, _ cases: CheckpointCases, length: Int? = nil, where isMeant: (Int) throws -> Bool) throws -> Int {
        let conversion = try CheckpointImporter.convert(folderOrFile: folder, length: length)
        #expect(conversion.warnings.isEmpty)
        let graph = conversion.graph
        try graph.verify()
        var optimized = graph
        try PassPipeline.default.run(&optimized)
        let executors = [try Executor(graph: graph), try Executor(graph: optimized)]
        var compared = 0
        for number in 0..<cases.count where try isMeant(number) {
            let inputs = try cases.inputs(number, of: graph)
            let mask = inputs["decoder_input_ids"] == nil ? inputs["attention_mask"] : nil
            let results = [try ReferenceInterpreter.run(graph, inputs)] + (try executors.map { try $0.run(inputs) })
            for output in graph.outputs {
                let expected = try cases.file.tensor(named: "case\(number).out.\(output.name)")
                for (way, result) in results.enumerated() {
                    let difference = checkpointDifference(try #require(result[output.name]), expected, mask: mask)
                    #expect(difference <= 1e-4, "case \(number), \(output.name), way \(way): \(difference)")
                }
            }
            compared += 1
        }
        return compared
    }

    private static func isPlain(_ cases: CheckpointCases, _ number: Int) throws -> Bool {
        let mask = cases.file.entry(named: "case\(number).attention_mask")
        guard let mask, let ids = cases.file.entry(named: "case\(number).input_ids") else { return false }
        return mask.shape == ids.shape
    }

    private static func isLeftPadded(_ cases: CheckpointCases, _ number: Int) throws -> Bool {
        let mask = try cases.file.tensor(named: "case\(number).attention_mask")
        let (values, width) = (mask.integers(), mask.shape[1])
        return stride(from: 0, to: values.count, by: width).contains { values[$0] == 0 }
    }
}

extension CheckpointCases {
    func length(_ number: Int) throws -> Int { try file.tensor(named: "case\(number).input_ids").shape[1] }
}
