import Foundation
import GraphIR
import ONNXConverter
import Operators
import Optimizer
import Runtime
import Tensors
import TestSupport
import Testing

/// Dense layers with weights in 8 and 4 bits, against onnxruntime (`Tests/Fixtures/contrib-quantized`): what the weight is stored as, and the answers.
@Suite struct ContribQuantizedTests {
    private static let folder = Fixtures.folder.appendingPathComponent("contrib-quantized")

    /// The operator that multiplies, the type of its weight, and why the weight is not smaller.
    struct Case: Sendable, CustomTestStringConvertible {
        let name: String
        let product: String
        let weight: DType
        var reason: String?
        var testDescription: String { name }
    }

    private static let digits = "its scales have more digits than the 16-bit floats of blocks"
    private static let levels = "its levels do not fit in 8 bits once their zero points are taken away"

    static let cases = [
        // Blocks hold exactly the numbers of the weight.
        Case(name: "nbits-4", product: "linear", weight: .q4_0),
        Case(name: "nbits-4-bias", product: "linear", weight: .q4_0),
        Case(name: "nbits-4-zeros", product: "linear", weight: .q5_0),
        Case(name: "nbits-8", product: "linear", weight: .q8_0),
        Case(name: "weights-int8", product: "linear", weight: .q8_0),
        Case(name: "weights-int8-tensor", product: "linear", weight: .q8_0),
        Case(name: "weights-uint8", product: "linear", weight: .q8_0),
        Case(name: "weights-int8-transposed", product: "linear", weight: .q8_0),
        Case(name: "weights-int8-f32-scales", product: "linear", weight: .q8_0),
        Case(name: "blocks-int4", product: "linear", weight: .q4_0),
        Case(name: "blocks-int4-transposed", product: "linear", weight: .q4_0),
        Case(name: "blocks-uint4-zeros", product: "linear", weight: .q5_0),
        // They do not.
        Case(name: "nbits-8-zeros", product: "linear", weight: .f32, reason: levels),
        Case(name: "nbits-4-f32-scales", product: "linear", weight: .f32, reason: digits),
        Case(name: "nbits-4-blocks-of-16", product: "linear", weight: .f32, reason: "its groups of 16 are no whole number of blocks of 32"),
        Case(name: "weights-uint8-zeros", product: "linear", weight: .f32, reason: levels),
        Case(name: "weights-int8-along-inputs", product: "linear", weight: .f32, reason: "the scale runs along the inputs of the weight"),
        Case(name: "blocks-int4-f32-scales", product: "linear", weight: .f32, reason: digits),
        // Activations are integers too.
        Case(name: "dynamic-matmul", product: "quantized_linear", weight: .i8),
        Case(name: "dynamic-matmul-tensor", product: "quantized_linear", weight: .i8),
        Case(name: "dynamic-matmul-bias", product: "quantized_linear", weight: .i8),
        Case(name: "integer-to-float", product: "quantized_linear", weight: .i8),
        Case(name: "integer-to-float-bias", product: "quantized_linear", weight: .i8),
        Case(name: "attention", product: "quantized_linear", weight: .i8),
        Case(name: "attention-channels", product: "quantized_linear", weight: .i8),
        Case(name: "attention-zero-mask", product: "quantized_linear", weight: .i8),
    ]

    @Test func everyModelIsACase() throws {
        let files = try FileManager.default.contentsOfDirectory(atPath: Self.folder.path).filter { $0.hasSuffix(".onnx") }.map { String($0.dropLast(5)) }
        #expect(Set(files) == Set(Self.cases.map(\.name)))
    }

    @Test(arguments: cases) func answersAsOnnxruntime(_ test: Case) throws {
        let conversion = try ONNXImporter.convert(contentsOf: Self.folder.appendingPathComponent("\(test.name).onnx"))
        let cases = try CaseFile(Self.folder.appendingPathComponent("\(test.name).safetensors"))
        let expected = try #require(cases.tensors("out.")["y"])
        var optimized = conversion.graph
        let report = try PassPipeline.default.run(&optimized)
        let largest = expected.doubles().reduce(1) { max($0, abs($1)) }
        // Products with blocks round each 32 elements of x to 16 bits.
        let tolerance = (test.weight.isBlock ? 5e-5 : 2e-6) * largest
        for graph in [conversion.graph, optimized] {
            let difference = ONNXReference.difference(try #require(try Executor(graph: graph).run(cases.tensors("in."))["y"]), expected)
            #expect(difference <= tolerance, "differs by \(difference), values up to \(largest)")
        }
        let products = optimized.nodes.filter { $0.op is Linear || $0.op is QuantizedLinear || $0.op is MatMul || $0.op is MatMulInteger }
        let product = try #require(products.first)
        #expect(products.count == 1 && product.op.mnemonic == test.product, "\(optimized.text)")
        let weight = try #require(product.inputs[product.op is QuantizedLinear ? 3 : 1])
        #expect(optimized.type(weight).dtype == test.weight, "\(optimized.text)")
        let rules = ["matmul_integer", "quantized_linear", "block_weight", "linear_cast", "dequantize"]
        let reasons = report.nearMisses.filter { rules.contains($0.rule) }.map(\.reason) + conversion.warnings
        if let reason = test.reason { #expect(reasons.contains { $0.hasSuffix(reason) }, "\(reasons)") } else { #expect(reasons.isEmpty, "\(reasons)") }
    }
}
