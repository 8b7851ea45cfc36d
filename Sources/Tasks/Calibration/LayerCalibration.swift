import GraphFile
import GraphIR
import Operators
import Optimizer
import Runtime
import Tensors
import Tokenizers

/// Measures what 8-bit arithmetic would do to each dense layer of a model: texts run through the model as it is, and what reaches a layer is
/// multiplied again in 8 bits, with and without smoothing.
public enum LayerCalibration {
    /// Products of one measurement at most, so that a layer over a vocabulary does not take all memory.
    private static let maximumProducts = 4_000_000

    /// - Parameters:
    ///   - file: The model before quantisation, with its tokenizer.
    ///   - texts: What the model will meet in use, some dozens of it.
    ///   - progress: Called with the share of the texts that are done.
    /// - Returns: By the name of the layer's output, as `WeightStoragePass` takes them.
    /// - Throws: `TaskError` where the model takes no text or there is none, errors of the runtime.
    public static func measure(_ file: GraphFile, texts: [String], progress: (Double) -> Void = { _ in }) throws -> [String: LayerMeasurement] {
        guard !texts.isEmpty else { throw TaskError(.invalidInput, "calibration needs texts, and there is none") }
        let layers = WeightStoragePass.layers(of: file.graph)
        var samples = try InputSamples(file, inputs: layers.compactMap { $0.inputs[0] })
        for (index, text) in texts.enumerated() {
            try samples.add(text)
            progress(Double(index + 1) / Double(texts.count))
        }
        var result: [String: LayerMeasurement] = [:]
        for layer in layers {
            guard let x = layer.inputs[0], let sample = samples[x] else { continue }
            result[file.graph[layer.outputs[0]].name] = try measure(LayerProduct(layer, in: file.graph), sample)
        }
        return result
    }

    static func measure(_ product: LayerProduct, _ sample: InputSample) throws -> LayerMeasurement {
        let rows = try sample.tensor(rows: max(16, maximumProducts / max(product.outputs, 1)))
        let expected = try product.run(rows, nil)
        /// The error under a measurement that makes the pass choose that form.
        func error(_ choice: LayerMeasurement) throws -> Double {
            var (noise, total) = (0.0, 0.0)
            for (a, b) in zip(expected, try product.run(rows, choice)) {
                noise += Double(a - b) * Double(a - b)
                total += Double(a) * Double(a)
            }
            return total > 0 ? (noise / total).squareRoot() : 0
        }
        let plain = try error(LayerMeasurement(error: 0))
        guard let smoothing = try product.smoothing(inputs: sample.largest) else { return LayerMeasurement(error: plain) }
        let smoothed = try error(LayerMeasurement(error: 1, smoothedError: 0, smoothing: smoothing))
        return LayerMeasurement(error: plain, smoothedError: smoothed, smoothing: smoothing)
    }
}
