import Foundation
import GraphFile
import GraphIR
import ModelConversion
import Operators
import Optimizer
import TestSupport
import Tensors
import Testing

@testable import Tasks

/// What 8-bit arithmetic does to layers, measured on inputs.
@Suite struct LayerCalibrationTests {
    /// `linear` over 64 inputs, and rows for it. One column in sixteen of these is that many times larger than the others and has weights as much smaller,
    /// as it is in language models.
    private static func layer(outliers: Float) throws -> (product: LayerProduct, sample: InputSample) {
        var random = SeededRandom(seed: 3)
        var builder = GraphBuilder(name: "g")
        let x = builder.input("x", TensorType(.f32, [.symbol("n"), .fixed(64)]))
        func size(_ column: Int) -> Float { column % 16 == 1 ? outliers : 1 }
        let weights = (0..<64 * 32).map { random.float() / size($0 / 32) }
        builder.output("y", try builder.apply(Linear(layout: .input_output), x, builder.constant(try Tensor(floats: weights, shape: [64, 32]), name: "w")))
        var sample = InputSample(width: 64)
        for _ in 0..<40 { sample.add((0..<64).map { random.float() * size($0) }) }
        return (try LayerProduct(builder.graph.nodes[0], in: builder.graph), sample)
    }

    @Test func smoothingMovesOutliersIntoTheWeight() throws {
        let even = try Self.layer(outliers: 1)
        let plain = try LayerCalibration.measure(even.product, even.sample)
        #expect(plain.error < 0.02 && !plain.isSmoothed && !plain.staysFloat, "\(plain.error)")
        let uneven = try Self.layer(outliers: 100)
        let measured = try LayerCalibration.measure(uneven.product, uneven.sample)
        #expect(measured.error > 0.2 && measured.isSmoothed && measured.chosenError < 0.02 && !measured.staysFloat, "\(measured)")
        let factors = try #require(measured.smoothing)
        #expect(factors[1] > 50 * factors[0] && factors[17] > 50 * factors[16])
        // Without factors to try the layer would stay in f32.
        #expect(LayerMeasurement(error: measured.error).staysFloat)
    }

    @Test func samplesAreSpreadOverAllRows() throws {
        var sample = InputSample(width: 2)
        for row in 0..<5000 { sample.add([Float(row), row == 4321 ? -9000 : 0]) }
        #expect(sample.largest == [4999, 9000])
        let rows = try sample.tensor(rows: 1000)
        #expect(rows.shape[0] > 250 && rows.shape[0] <= 512)
        let first = rows.floats().enumerated().filter { $0.offset % 2 == 0 }.map(\.element)
        let step = first[1] - first[0]
        #expect(first[0] == 0 && zip(first, first.dropFirst()).allSatisfy { $1 - $0 == step } && first.last.map { $0 > 4900 } == true)
    }

    /// The classifier that ships: 26 layers, none of which 8 bits harm.
    @Test func measuresEveryLayerOfAModel() throws {
        let url = Fixtures.folder.deletingLastPathComponent().deletingLastPathComponent().appendingPathComponent("Models/sentiment/sentiment.graph")
        var options = ConversionOptions()
        options.quantization = .int8
        let texts = ["I love this", "The parcel arrived on Tuesday.", "Never again: it broke after a day."]
        options.calibration = { try LayerCalibration.measure($0, texts: texts) }
        let model = try ModelConverter(url, options: options).convert()
        let entries = try #require(model.quantization?.entries)
        #expect(entries.count == 26 && entries.allSatisfy { $0.outputError.map { $0 > 0 && $0 < 0.02 } == true && !$0.isSmoothed })
        #expect(model.graph.nodes.filter { $0.op is QuantizedLinear }.count == 26)
        #expect(model.description.labels == ["negative", "neutral", "positive"] && model.provenance.format == "safetensors")
        let classifier = try TextClassifier(model: TextModel(model.file, name: "int8"))
        #expect(try classifier.classify(texts).map(\.label) == ["positive", "neutral", "negative"])
        #expect(throws: TaskError.self) { try LayerCalibration.measure(model.file, texts: []) }
    }
}
