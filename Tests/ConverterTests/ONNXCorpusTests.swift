import Foundation
import JSON
import ONNXConverter
import Runtime
import Tensors
import TestSupport
import Testing

/// Every export of the corpus's encoders gives the outputs of the model that it was made of.
@Suite struct ONNXCorpusTests {
    /// One exported file of one model.
    struct Variant: CustomTestStringConvertible {
        let folder: String
        let entry: JSONValue
        var file: String { entry["file"]?.stringValue ?? "" }
        var testDescription: String { "\(folder)/\(file)" }
        var url: URL { Corpus.folder.appendingPathComponent(folder).appendingPathComponent(file) }
    }

    static let variants: [Variant] = {
        guard let models = try? Corpus.manifest()["models"]?.arrayValue else { return [] }
        return models.filter { $0["kind"]?.stringValue == "enc" }.flatMap { model in
            (model["onnx"]?.arrayValue ?? []).map { Variant(folder: model["folder"]?.stringValue ?? "", entry: $0) }
        }
    }()

    @Test(.needsFixture("corpus")) func corpusHasVariants() { #expect(Self.variants.count > 60) }

    @Test(.needsFixture("corpus"), arguments: variants) func answersAsTheModel(_ variant: Variant) throws {
        let conversion = try ONNXImporter.convert(contentsOf: variant.url)
        #expect(try ONNXImporter.check(contentsOf: variant.url).isEmpty)
        let cases = try CaseFile(Corpus.folder.appendingPathComponent(variant.folder).appendingPathComponent("cases.safetensors"))
        // Lower precision and older attention operators are compared with onnxruntime's own outputs.
        let own = variant.entry["ort_outputs"]?.stringValue
        let expected = try own.map { try CaseFile(variant.url.deletingLastPathComponent().appendingPathComponent($0)) } ?? cases
        let tolerance = variant.file.contains("int8") ? 0.1 : variant.file.contains("fp16") ? 1e-2 : 1e-4
        #expect(try ONNXReference.survivesText(conversion.graph))
        let executor = try Executor(graph: conversion.graph, options: ExecutorOptions(threads: 1))
        let names = conversion.graph.inputs.map { conversion.graph[$0].name }
        var compared = 0
        for number in 0..<8 {
            let inputs = try cases.tensors("case\(number).").filter { names.contains($0.key) }
            guard inputs.count == names.count else { continue }
            var runs = [("executor", try executor.run(inputs))]
            // The reference evaluation, which checks inference too, is slow: rows padded right and left.
            if number == 1 || number == 7 { runs.append(("reference", try ReferenceInterpreter.run(conversion.graph, inputs))) }
            let rows = inputs["attention_mask"]?.integers().map { $0 == 1 }
            let shape = inputs["attention_mask"]?.shape ?? []
            for (name, tensor) in try expected.tensors("case\(number).out.") {
                for (run, outputs) in runs {
                    let output = try #require(outputs[name], "no output \(name)")
                    let isPerToken = output.rank >= 3 && Array(output.shape.prefix(2)) == shape
                    let difference = ONNXReference.difference(output, tensor, rows: isPerToken ? rows : nil)
                    #expect(difference <= tolerance, "\(run): case\(number) \(name) differs by \(difference)")
                    compared += 1
                }
            }
        }
        #expect(compared >= 10)
    }
}
