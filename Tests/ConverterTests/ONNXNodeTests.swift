import Foundation
import ONNXConverter
import Tensors
import TestSupport
import Testing

/// The ONNX project's own tests of single operators (Tests/Fixtures/onnx-nodes), for the operators that are taken.
@Suite struct ONNXNodeTests {
    /// Variants of taken operators that are refused, by a part of the test's name.
    static let refused = [
        "select_last_index", "softcap", "qk_matmul", "window", "training", "center_crop_pad", "test_scatternd_add", "test_scatternd_max",
        "test_scatternd_min", "test_scatternd_multiply", "blocked", "linear_int16", "linear_uint16",
    ]

    @Test(.needsFixture("onnx-nodes")) func operatorsDoWhatTheirTestsSay() throws {
        let folder = Fixtures.unpacked("onnx-nodes")
        let files = try FileManager.default.contentsOfDirectory(atPath: folder.path).filter { $0.hasSuffix(".onnx") }.sorted()
        #expect(files.count > 800)
        let cases = try SafetensorsFile(contentsOf: folder.appendingPathComponent("cases.safetensors"))
        var groups: [String: [(key: Substring, entry: String)]] = [:]
        for entry in cases.entries {
            // NAME.SET.in.INPUT: the name has no dot.
            let parts = entry.name.split(separator: ".", maxSplits: 2, omittingEmptySubsequences: false)
            guard parts.count == 3 else { continue }
            groups[String(parts[0]), default: []].append((parts[2], entry.name))
        }
        var wrong: [String] = []
        var passed = 0
        var refusals: [String] = []
        for file in files {
            let name = String(file.dropLast(5))
            do {
                let conversion = try ONNXImporter.convert(contentsOf: folder.appendingPathComponent(file))
                var inputs: [String: Tensor] = [:]
                var expected: [String: Tensor] = [:]
                for (key, entry) in groups[name] ?? [] {
                    if key.hasPrefix("in.") { inputs[String(key.dropFirst(3))] = try cases.tensor(named: entry) }
                    if key.hasPrefix("out.") { expected[String(key.dropFirst(4))] = try cases.tensor(named: entry) }
                }
                let outputs = try ReferenceInterpreter.run(conversion.graph, inputs)
                for (output, tensor) in expected {
                    guard let result = outputs[output], result.dtype == tensor.dtype else {
                        wrong.append("\(name): \(output) is missing or of the wrong type")
                        continue
                    }
                    let scale = max(tensor.doubles().map(\.magnitude).filter(\.isFinite).max() ?? 0, 1)
                    let tolerance = tensor.dtype == .f16 ? 5e-3 : tensor.dtype == .bf16 ? 2e-2 : tensor.dtype.isFloat ? 1e-5 : 0
                    let difference = ONNXReference.difference(result, tensor)
                    if difference > tolerance * scale { wrong.append("\(name): \(output) differs by \(difference)") }
                }
                passed += 1
            } catch let error as ONNXError where error.kind == .unsupportedOperator || error.kind == .unsupportedType {
                refusals.append("\(name): \(error.reason)")
            } catch {
                wrong.append("\(name): \(error)")
            }
        }
        let unexpected = refusals.filter { refusal in !Self.refused.contains { refusal.prefix(while: { $0 != ":" }).contains($0) } }
        #expect(passed > 900, "\(passed) passed, \(refusals.count) refused, \(wrong.count) wrong")
        #expect(unexpected.isEmpty, "\(unexpected.joined(separator: "\n"))")
        #expect(wrong.isEmpty, "\(wrong.joined(separator: "\n"))")
    }
}
