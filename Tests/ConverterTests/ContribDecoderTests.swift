import Foundation
import GraphIR
import ONNXConverter
import Optimizer
import Runtime
import Tensors
import TestSupport
import Testing

/// onnxruntime's own operators of decoders, against onnxruntime (`Tests/Fixtures/contrib-decoder`).
@Suite struct ContribDecoderTests {
    private static let folder = Fixtures.folder.appendingPathComponent("contrib-decoder")

    static let names: [String] = ((try? FileManager.default.contentsOfDirectory(atPath: folder.path)) ?? [])
        .filter { $0.hasSuffix(".onnx") }.map { String($0.dropLast(5)) }.sorted()

    @Test func hasCases() { #expect(Self.names.count >= 20) }

    @Test(arguments: names) func answersAsOnnxruntime(_ name: String) throws {
        let url = Self.folder.appendingPathComponent("\(name).onnx")
        if name == "gqa-softcap" {
            #expect(throws: ONNXError.self) { try ONNXImporter.convert(contentsOf: url) }
            return
        }
        let plain = try ONNXImporter.convert(contentsOf: url).graph
        let cases = try CaseFile(Self.folder.appendingPathComponent("\(name).safetensors"))
        var inputs: [String: Tensor] = [:]
        for (name, tensor) in try cases.tensors("in.") {
            guard let input = plain.inputs.first(where: { plain[$0].name == name }) else { continue }
            // The file keeps numbers as vectors of one.
            inputs[name] = plain.type(input).rank == 0 ? try tensor.reshaped([]) : tensor
        }
        var optimized = plain
        try PassPipeline.default.run(&optimized)
        for graph in [plain, optimized] {
            let outputs = try Executor(graph: graph).run(inputs)
            for (output, expected) in try cases.tensors("out.") {
                let difference = ONNXReference.difference(try #require(outputs[output]), expected)
                #expect(difference <= 1e-5, "\(output) differs by \(difference)")
            }
        }
    }
}
