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
        let compared = try compare(folder, cases) { try !isLong || cases.length($0) <= 16 }
        #expect(compared == (isLong ? 4 : cases.count))
        if isLong {
            let long = try compare(folder, cases, length: 64) { try cases.length($0) > 16 }
            #expect(long == 2)
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
        for number in 0..<cases.count {
            guard try isMeant(number) else { continue }
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

    /// A prefix at once, the rest token by token through the cache.
    @Test(.needsFixture("decoders"), arguments: generated.filter { !$0.hasPrefix("t5") })
    func stepsEqualOneRun(_ name: String) throws {
        let folder = Self.folder.appendingPathComponent(name)
        let cases = CheckpointCases(file: try SafetensorsFile(contentsOf: folder.appendingPathComponent("cases.safetensors")))
        let executor = try Executor(graph: try CheckpointImporter.convert(folderOrFile: folder).graph)
        let output = try #require(executor.outputs.first).name
        for number in 0..<2 {
            let ids = try cases.file.tensor(named: "case\(number).input_ids")
            let mask = try cases.file.tensor(named: "case\(number).attention_mask")
            let (batch, length) = (ids.shape[0], ids.shape[1])
            let cache = try executor.makeCache(batch: batch, capacity: length)
            for part in [0..<4] + (4..<length).map({ $0..<$0 + 1 }) {
                let inputs = ["input_ids": try ids.columns(part), "attention_mask": try mask.columns(part)]
                let result = try #require(try executor.run(inputs, cache: cache)[output])
                let expected = try cases.file.tensor(named: "case\(number).out.\(output)").columns(part)
                let difference = checkpointDifference(result, expected, mask: inputs["attention_mask"])
                #expect(difference <= 1e-4, "case \(number), \(part): \(difference)")
            }
        }
    }

    /// The cases that continue others, through the cache instead of tensors of past keys and values.
    @Test(.needsFixture("corpus"), arguments: corpus.filter { $0 != "t5-encoder-decoder" && $0 != "llama-causal-lm/checkpoint-sharded" })
    func corpusCasesWithPast(_ name: String) throws {
        let folder = Fixtures.unpacked("corpus").appendingPathComponent(name)
        let own = folder.appendingPathComponent("cases.safetensors")
        let file = try SafetensorsFile(contentsOf: own)
        let executor = try Executor(graph: try CheckpointImporter.convert(folderOrFile: folder).graph)
        for chain in [[7, 8, 9, 10], [7, 11], [12, 13]] {
            let batch = try file.tensor(named: "case\(chain[0]).input_ids").shape[0]
            let cache = try executor.makeCache(batch: batch, capacity: 16)
            for number in chain {
                let ids = try file.tensor(named: "case\(number).input_ids")
                let mask = try file.tensor(named: "case\(number).attention_mask")
                // The file's mask covers the past too.
                let new = try mask.columns(mask.shape[1] - ids.shape[1]..<mask.shape[1])
                let logits = try #require(try executor.run(["input_ids": ids, "attention_mask": new], cache: cache)["logits"])
                let difference = checkpointDifference(logits, try file.tensor(named: "case\(number).out.logits"), mask: new)
                #expect(difference <= 1e-4, "case \(number): \(difference)")
            }
        }
    }

    @Test(.needsFixture("corpus"), arguments: ["gpt2-causal-lm", "llama-causal-lm", "llama-causal-lm/checkpoint-bf16", "qwen2-causal-lm"])
    func greedyContinuations(_ name: String) throws {
        let folder = Fixtures.unpacked("corpus").appendingPathComponent(name)
        let file = try SafetensorsFile(contentsOf: folder.appendingPathComponent("cases.safetensors"))
        var graph = try CheckpointImporter.convert(folderOrFile: folder).graph
        try PassPipeline.default.run(&graph)
        let executor = try Executor(graph: graph)
        for number in 0..<2 {
            var ids = try file.tensor(named: "greedy\(number).input_ids")
            var mask = try file.tensor(named: "greedy\(number).attention_mask")
            let expected = try file.tensor(named: "greedy\(number).out.new_ids")
            let batch = ids.shape[0]
            let cache = try executor.makeCache(batch: batch, capacity: 32)
            var found: [Int64] = []
            for _ in 0..<expected.shape[1] {
                let logits = try #require(try executor.run(["input_ids": ids, "attention_mask": mask], cache: cache)["logits"])
                let best = try logits.bestOfLastPositions()
                found += best
                ids = try Tensor(integers: best, shape: [batch, 1])
                mask = try Tensor(integers: best.map { _ in 1 }, shape: [batch, 1])
            }
            // Step by step found, row by row expected.
            let steps = expected.shape[1]
            let rows = (0..<batch).flatMap { row in (0..<steps).map { found[$0 * batch + row] } }
            #expect(rows == expected.integers())
        }
    }

    @Test(.needsFixture("corpus")) func greedyAnswersOfT5() throws {
        let folder = Fixtures.unpacked("corpus").appendingPathComponent("t5-encoder-decoder")
        let file = try SafetensorsFile(contentsOf: folder.appendingPathComponent("cases.safetensors"))
        var graph = try CheckpointImporter.convert(folderOrFile: folder).graph
        try PassPipeline.default.run(&graph)
        let executor = try Executor(graph: graph)
        for number in 0..<2 {
            let ids = try file.tensor(named: "greedy\(number).input_ids")
            let mask = try file.tensor(named: "greedy\(number).attention_mask")
            let expected = try file.tensor(named: "greedy\(number).out.new_ids")
            let batch = ids.shape[0]
            // The decoder begins with padding.
            var rows = [[Int64]](repeating: [0], count: batch)
            for _ in 0..<expected.shape[1] {
                let target = try Tensor(integers: rows.flatMap { $0 }, shape: [batch, rows[0].count])
                let logits = try #require(
                    try executor.run(["input_ids": ids, "attention_mask": mask, "decoder_input_ids": target])["logits"])
                for (row, best) in try logits.bestOfLastPositions().enumerated() { rows[row].append(best) }
            }
            #expect(rows.flatMap { $0.dropFirst() } == expected.integers())
        }
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

extension Tensor {
    /// The part `[:, range]` of an integer or f32 tensor.
    fileprivate func columns(_ range: Range<Int>) throws -> Tensor {
        let bounds = try [range.lowerBound, range.upperBound].map { try Tensor(integers: [Int64($0)], shape: [1]) }
        return try Slice(axes: [1]).evaluate(Inputs([self] + bounds))[0]
    }

    /// The index of the largest of the last position's logits, for each row of `[batch, sequence, vocabulary]`.
    fileprivate func bestOfLastPositions() throws -> [Int64] {
        let (values, sequence, width) = (floats(), shape[1], shape[2])
        return (0..<shape[0]).map { row in
            let last = values[((row + 1) * sequence - 1) * width..<(row + 1) * sequence * width]
            return Int64((last.indices.max { last[$0] < last[$1] } ?? last.startIndex) - last.startIndex)
        }
    }
}

extension CheckpointCases {
    func length(_ number: Int) throws -> Int { try file.tensor(named: "case\(number).input_ids").shape[1] }
}
