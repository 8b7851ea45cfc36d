import Foundation
import GraphFile
import JSON
import ModelConversion
import Optimizer
import Runtime
import Tasks
import Tensors
import TestSupport
import Testing

/// The classifier that ships, against the model it was made from and against the figures of its card.
@Suite struct SentimentTests {
    private static let models = Fixtures.folder.deletingLastPathComponent().deletingLastPathComponent().appendingPathComponent("Models")
    private static let graph = models.appendingPathComponent("sentiment/sentiment.graph")

    /// The same texts in PyTorch with the same weights rounded to 8 bits: the logits of 60 held-out sentences.
    @Test func logitsEqualPyTorchWithInt8Weights() throws {
        let references = Fixtures.folder.appendingPathComponent("references")
        let json = try JSONParser.parse(Data(contentsOf: references.appendingPathComponent("sentiment.json")))
        let texts = (json["cases"]?.arrayValue ?? []).compactMap { $0["text"]?.stringValue }
        let expected = try SafetensorsFile(contentsOf: references.appendingPathComponent("sentiment.safetensors")).tensor(named: "logits_int8_weights")
        try #require(texts.count == 60 && expected.shape == [60, 3])
        let file = try GraphFile(contentsOf: Self.graph)
        let model = try TextModel(file, name: "sentiment.graph")
        let executor = try Executor(graph: file.graph)
        for (index, text) in texts.enumerated() {
            let ids = try model.encode(text).ids.map { Int64($0) }
            let logits = try #require(try executor.run(["input_ids": Tensor(integers: ids, shape: [1, ids.count])])["logits"]).floats()
            for (label, logit) in logits.enumerated() {
                #expect(abs(logit - expected.floats()[index * 3 + label]) < 1e-3, "\(text): label \(label)")
            }
        }
    }

    /// The card's figures, measured again on the held-out sentences: as it ships, and with dense layers that multiply integers. About 3,500 texts, so
    /// only where time allows.
    @Test(
        .enabled(if: ProcessInfo.processInfo.environment["MLGRAPH_HEAVY"] != nil, "MLGRAPH_HEAVY is not set"),
        arguments: [(nil, 0.7442), (WeightStorage.int8, 0.7416)])
    func macroF1OnHeldOutSentences(_ storage: WeightStorage?, card: Double) throws {
        let folder = Self.models.appendingPathComponent("sentiment")
        let lines = try String(contentsOf: folder.appendingPathComponent("heldout.jsonl"), encoding: .utf8).split(separator: "\n")
        let cases = try lines.map { try JSONParser.parse(String($0)) }
        var options = ConversionOptions()
        options.quantization = storage
        let file = storage == nil ? try GraphFile(contentsOf: Self.graph) : try ModelConverter(Self.graph, options: options).convert().file
        let classifier = try TextClassifier(model: TextModel(file, name: "sentiment.graph"))
        let answers = try classifier.classify(cases.map { $0["text"]?.stringValue ?? "" }).map(\.label)
        let labels = cases.map { $0["label"]?.stringValue ?? "" }
        let f1 = classifier.labels.map { label -> Double in
            let hits = zip(answers, labels).filter { $0 == label && $1 == label }.count
            return 2 * Double(hits) / Double(max(1, answers.filter { $0 == label }.count + labels.filter { $0 == label }.count))
        }
        let macroF1 = f1.reduce(0, +) / Double(f1.count)
        #expect(abs(macroF1 - card) < 0.003, "measured \(macroF1), the card says \(card)")
        let float32 = try JSONParser.parse(Data(contentsOf: folder.appendingPathComponent("metrics.json")))["float32"]?["all"]?["macro_f1"]?.doubleValue
        #expect(macroF1 > (try #require(float32)) - 0.005)
    }
}
