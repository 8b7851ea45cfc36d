import Foundation
import GraphIR
import JSON
import ONNXConverter
import Optimizer
import Runtime
import Tensors
import TestSupport
import Testing

/// Every export of the corpus's decoders and of its encoder-decoder gives the outputs of the model that it was made of.
@Suite struct DecoderCorpusTests {
    static func variants(kind: String) -> [ONNXCorpusTests.Variant] {
        guard let models = try? Corpus.manifest()["models"]?.arrayValue else { return [] }
        return models.filter { $0["kind"]?.stringValue == kind }.flatMap { model in
            (model["onnx"]?.arrayValue ?? []).map { ONNXCorpusTests.Variant(folder: model["folder"]?.stringValue ?? "", entry: $0) }
        }
    }

    static let all = variants(kind: "causal") + variants(kind: "encdec")

    @Test(.needsFixture("corpus")) func corpusHasVariants() { #expect(Self.all.count >= 75) }

    @Test(.needsFixture("corpus"), arguments: all) func answersAsTheModel(_ variant: ONNXCorpusTests.Variant) throws {
        let conversion = try ONNXImporter.convert(contentsOf: variant.url)
        #expect(try ONNXImporter.check(contentsOf: variant.url).isEmpty)
        #expect(try ONNXReference.survivesText(conversion.graph))
        try Self.compare(variant, conversion.graph, outputs: nil)
    }

    /// Runs all cases of the variant; the outputs that are named, or all.
    static func compare(_ variant: ONNXCorpusTests.Variant, _ graph: Graph, outputs wanted: Set<String>?) throws {
        let cases = try DecoderCorpusCases(
            variant, inputs: graph.inputs.map { (graph[$0].name, graph.type($0).dtype, graph.type($0).dims.map(\.fixedValue)) })
        let checked = variant.entry["cases_checked"]?.members.map(\.key) ?? []
        let found = Set(cases.cases.map { "case\($0.number)" })
        #expect(found.isSuperset(of: checked) && !found.isEmpty, "\(checked) against \(found)")
        let executor = try Executor(graph: graph, options: ExecutorOptions(threads: 1))
        for item in cases.cases {
            let outputs = try executor.run(item.inputs)
            for (name, tensor) in item.expected where wanted?.contains(name) ?? graph.outputs.contains(where: { $0.name == name }) {
                let output = try #require(outputs[name], "no output \(name)")
                let difference = try DecoderCorpusCases.difference(output, tensor, name: name, item.tokens)
                #expect(difference <= cases.tolerance, "case\(item.number) \(name) differs by \(difference)")
            }
        }
    }

    @Test(.needsFixture("corpus"), arguments: variants(kind: "encdec")) func optimizedAnswersAsTheModel(_ variant: ONNXCorpusTests.Variant) throws {
        var graph = try ONNXImporter.convert(contentsOf: variant.url).graph
        try PassPipeline.default.run(&graph)
        try Self.compare(variant, graph, outputs: nil)
    }

    /// Every spelling of a causal model comes down to the same: new tokens in, logits out, keys and values in the cache of the run.
    @Test(.needsFixture("corpus"), arguments: variants(kind: "causal")) func cachedAnswersAsTheModel(_ variant: ONNXCorpusTests.Variant) throws {
        var graph = try ONNXImporter.convert(contentsOf: variant.url).graph
        let report = try PassPipeline.default.run(&graph)
        #expect(report.count(of: "key_value_cache") == 2, "\(report.nearMisses)")
        try graph.verify()
        #expect(try ONNXReference.survivesText(graph))
        #expect(graph.inputs.map { graph[$0].name } == ["input_ids", "attention_mask"])
        #expect(graph.outputs.map(\.name) == ["logits"])
        let counts = report.fusionCounts
        #expect(counts.attention == 2)
        let isGPT2 = variant.folder.hasPrefix("gpt2")
        #expect(counts.layerNorm == (isGPT2 ? 5 : 0) && counts.rmsNorm == (isGPT2 ? 0 : 5), "\(report.nearMisses)")
        #expect(report.nodeCount(of: "rotary_embedding") == (isGPT2 ? 0 : 4), "\(report.nearMisses)")
        #expect(report.nodeCount(of: "transpose") == 0)
        // Weights stay shared and no shapes are computed; what is left is the model.
        #expect(graph.nodes.count < 80)

        let executor = try Executor(graph: graph, options: ExecutorOptions(threads: 1))
        let cases = try CaseFile(Corpus.folder.appendingPathComponent(variant.folder).appendingPathComponent("cases.safetensors"))
        let own = variant.entry["ort_outputs"]?.stringValue
        let outputs = try own.map { try CaseFile(variant.url.deletingLastPathComponent().appendingPathComponent($0)) } ?? cases
        let tolerance = variant.file.contains("4bits") ? 0.1 : variant.file.contains("fp16") ? 1e-2 : 1e-4
        var compared = 0
        func run(_ number: Int, columns: Range<Int>? = nil, _ cache: KeyValueCache) throws {
            let given = try cases.tensors("case\(number).")
            guard let expected = try outputs.tensors("case\(number).out.")["logits"] else { return }
            let (ids, mask) = (try #require(given["input_ids"]), try #require(given["attention_mask"]))
            let columns = columns ?? 0..<ids.shape[1]
            let newMask = try mask.columns(mask.shape[1] - ids.shape[1]..<mask.shape[1]).columns(columns)
            let results = try executor.run(["input_ids": try ids.columns(columns), "attention_mask": newMask], cache: cache)
            let logits = try #require(results["logits"])
            let difference = ONNXReference.difference(logits, try expected.columns(columns), rows: newMask.integers().map { $0 == 1 })
            #expect(difference <= tolerance, "case\(number) \(columns) differs by \(difference)")
            compared += 1
        }
        // All at once, then a prefix and the rest.
        for number in [0, 1, 3, 4, 5, 6] {
            let shape = try #require(try cases.tensors("case\(number).")["input_ids"]).shape
            try run(number, executor.makeCache(batch: shape[0], capacity: shape[1]))
            guard shape[1] > 1 else { continue }
            let cache = try executor.makeCache(batch: shape[0], capacity: shape[1])
            let middle = (shape[1] + 1) / 2
            try run(number, columns: 0..<middle, cache)
            try run(number, columns: middle..<shape[1], cache)
        }
        // Step by step, three tokens at once, and padded on the left. The pasts of the 4-bit files' own answers are those of the full weights.
        for steps in variant.file.contains("4bits") ? [] : [[7, 8, 9, 10], [7, 11], [12, 13]] {
            let batch = try #require(try cases.tensors("case\(steps[0]).")["input_ids"]).shape[0]
            let cache = try executor.makeCache(batch: batch, capacity: 16)
            for number in steps { try run(number, cache) }
        }
        #expect(compared >= (own == nil ? 24 : 6))
        if own == nil { try Self.continueGreedily(executor, cases) }
    }

    private static func continueGreedily(_ executor: Executor, _ cases: CaseFile) throws {
        for number in 0..<2 {
            let given = try cases.tensors("greedy\(number).")
            var (ids, mask) = (try #require(given["input_ids"]), try #require(given["attention_mask"]))
            let expected = try #require(given["out.new_ids"])
            let (batch, count) = (expected.shape[0], expected.shape[1])
            let cache = try executor.makeCache(batch: batch, capacity: ids.shape[1] + count)
            var rows = [[Int64]](repeating: [], count: batch)
            for _ in 0..<count {
                let logits = try #require(try executor.run(["input_ids": ids, "attention_mask": mask], cache: cache)["logits"])
                let (sequence, width) = (logits.shape[1], logits.shape[2])
                let scores = logits.floats()
                for row in 0..<batch {
                    let start = (row * sequence + sequence - 1) * width
                    let last = scores[start..<start + width]
                    let best = try #require(last.indices.max { last[$0] < last[$1] })
                    rows[row].append(Int64(best - start))
                }
                ids = try Tensor(integers: rows.compactMap(\.last), shape: [batch, 1])
                mask = try Tensor(integers: Array(repeating: 1, count: batch), shape: [batch, 1])
            }
            #expect(rows.flatMap { $0 } == expected.integers())
        }
    }
}

extension Tensor {
    /// `x[:, columns]`
    fileprivate func columns(_ columns: Range<Int>) throws -> Tensor {
        let inner = shape.dropFirst(2).reduce(1, *)
        let numbers = doubles()
        let kept = (0..<shape[0]).flatMap { row in
            numbers[(row * shape[1] + columns.lowerBound) * inner..<(row * shape[1] + columns.upperBound) * inner]
        }
        return try Tensor(doubles: kept, dtype: dtype, shape: [shape[0], columns.count] + shape.dropFirst(2))
    }
}
