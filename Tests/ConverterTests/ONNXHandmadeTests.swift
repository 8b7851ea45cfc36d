import Foundation
import JSON
import ONNXConverter
import Runtime
import Tensors
import TestSupport
import Testing

/// The corpus's hand-made graphs do what its manifest expects: the expected outputs, or an error of the expected class.
@Suite struct ONNXHandmadeTests {
    struct Sample: CustomTestStringConvertible {
        let entry: JSONValue
        var name: String { entry["name"]?.stringValue ?? "" }
        var testDescription: String { name }
        var url: URL { Corpus.folder.appendingPathComponent(entry["file"]?.stringValue ?? "") }
    }

    static let samples: [Sample] = {
        ((try? Corpus.manifest()["handmade"]?.arrayValue) ?? []).map { Sample(entry: $0) }
    }()

    /// Graphs that the manifest would run and that are refused so far.
    static let refused: [String: ONNXError.Kind] = [
        "control-if": .unsupportedOperator, "control-loop": .unsupportedOperator, "control-scan": .unsupportedOperator,
        "einsum-attention": .unsupportedOperator, "resize": .unsupportedOperator,
    ]

    @Test(.needsFixture("corpus")) func manifestHasSamples() { #expect(Self.samples.count == 58) }

    @Test(.needsFixture("corpus"), arguments: samples) func doesWhatIsExpected(_ sample: Sample) throws {
        let expectation = try #require(sample.entry["expect"]?.stringValue)
        var options = ONNXImporter.Options()
        options.keepsInputsWithDefaults = true
        let conversion: ONNXConversion
        do {
            conversion = try ONNXImporter.convert(contentsOf: sample.url, options: options)
        } catch let error as ONNXError {
            let accepted = sample.entry["error_class"]?.stringValue ?? sample.entry["accepted_error_class"]?.stringValue
            #expect(error.kind.rawValue == accepted || error.kind == Self.refused[sample.name], "\(error)")
            for word in sample.entry["error_must_mention"]?.arrayValue ?? [] {
                #expect(error.description.contains(word.stringValue ?? "?"), "\(error)")
            }
            #expect(!error.description.contains("\n"))
            // `check` reads the same file to its end, and finds at least as much.
            if error.kind != .malformedFile { #expect(try !ONNXImporter.check(contentsOf: sample.url).isEmpty) }
            return
        }
        #expect(expectation != "error" && Self.refused[sample.name] == nil, "was converted")
        let cases = try CaseFile(sample.url.deletingLastPathComponent().appendingPathComponent("cases.safetensors"))
        #expect(try ONNXReference.survivesText(conversion.graph))
        let executor = try Executor(graph: conversion.graph, options: ExecutorOptions(threads: 1))
        let count = try #require(sample.entry["cases"]?.intValue)
        #expect(count > 0)
        for number in 0..<count {
            var inputs = try cases.tensors("case\(number).").filter { !$0.key.hasPrefix("out.") }
            for (name, value) in conversion.inputDefaults where inputs[name] == nil { inputs[name] = value }
            let runs = [("executor", try executor.run(inputs)), ("reference", try ReferenceInterpreter.run(conversion.graph, inputs))]
            let expected = try cases.tensors("case\(number).out.")
            #expect(!expected.isEmpty)
            for (name, tensor) in expected {
                for (run, outputs) in runs {
                    let output = try #require(outputs[name], "no output \(name)")
                    #expect(output.dtype == tensor.dtype || tensor.dtype == .f32, "\(name) is \(output.dtype), expected \(tensor.dtype)")
                    let difference = ONNXReference.difference(output, tensor)
                    #expect(difference <= (sample.name.contains("fp16") ? 2e-3 : 1e-5), "\(run): case\(number) \(name) differs by \(difference)")
                }
            }
        }
    }

    @Test(.needsFixture("corpus")) func contradictedDeclarationsGiveWarnings() throws {
        for name in ["dims-contradicting-name", "dims-contradicting-constant"] {
            let url = Corpus.folder.appendingPathComponent("handmade/\(name)/model.onnx")
            #expect(try !ONNXImporter.convert(contentsOf: url).warnings.isEmpty)
        }
    }

    @Test(.needsFixture("corpus")) func checkListsEveryOperatorWithItsNodes() throws {
        let issues = try ONNXImporter.check(contentsOf: Corpus.folder.appendingPathComponent("handmade/unknown-ops/model.onnx"))
        #expect(issues.count == 4)
        #expect(issues.allSatisfy { $0.kind == .unsupportedOperator && $0.nodes.count == 1 && $0.operatorName != nil })
        #expect(issues.contains { $0.operatorName == "vendor.quant::PackInt3" && $0.opset == 2 })
    }

    @Test(.needsFixture("corpus")) func defaultsBecomeConstantsUnlessAskedFor() throws {
        let url = Corpus.folder.appendingPathComponent("handmade/initializer-as-input-override/model.onnx")
        let conversion = try ONNXImporter.convert(contentsOf: url)
        #expect(conversion.graph.inputs.map { conversion.graph[$0].name } == ["x"])
        #expect(conversion.inputDefaults.isEmpty && conversion.warnings.count == 1)
    }
}
