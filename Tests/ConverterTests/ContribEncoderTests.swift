import Foundation
import GraphIR
import ONNXConverter
import Optimizer
import Runtime
import Tensors
import TestSupport
import Testing

/// onnxruntime's own operators of encoders, against onnxruntime (`Tests/Fixtures/contrib-encoder`).
@Suite struct ContribEncoderTests {
    private static let folder = Fixtures.folder.appendingPathComponent("contrib-encoder")

    static let names: [String] = ((try? FileManager.default.contentsOfDirectory(atPath: folder.path)) ?? [])
        .filter { $0.hasSuffix(".onnx") }.map { String($0.dropLast(5)) }.sorted()

    @Test func hasCases() { #expect(Self.names.count >= 55) }

    @Test(arguments: names) func answersAsOnnxruntime(_ name: String) throws {
        let plain = try ONNXImporter.convert(contentsOf: Self.folder.appendingPathComponent("\(name).onnx")).graph
        let cases = try CaseFile(Self.folder.appendingPathComponent("\(name).safetensors"))
        var optimized = plain
        try PassPipeline.default.run(&optimized)
        for graph in [plain, optimized] {
            let outputs = try Executor(graph: graph).run(cases.tensors("in."))
            let expected = try cases.tensors("out.")
            #expect(Set(outputs.keys) == Set(expected.keys))
            for (output, tensor) in expected {
                let difference = ONNXReference.difference(try #require(outputs[output]), tensor)
                #expect(difference <= 1e-5, "\(output) differs by \(difference)")
            }
        }
        // Whatever its masks, packing and past: one attention.
        if name.hasPrefix("attention") || name.hasPrefix("multi-head") { #expect(FusionCounts(optimized).attention == 1) }
    }
}
