import GraphIR
import Tensors

/// A family of encoders: its configuration as typed values, and the graph that it describes.
protocol Architecture: Sendable {
    /// The `model_type` values of config.json that mean it.
    static var modelTypes: [String] { get }
    /// The reference implementation's name of the encoder inside a model with a head, with a dot.
    static var prefix: String { get }

    init(reading reader: inout ConfigurationReader)

    var encoder: EncoderConfiguration { get }
    /// The longest sequence.
    var maximumPositions: Int { get }

    /// Writes inputs, nodes and outputs.
    func build(_ head: Head, labels: Int, in builder: inout EncoderBuilder) throws
}

/// The encoders that this toolkit knows, by the `model_type` of config.json.
public struct KnownArchitecture: Sendable {
    private let architecture: any Architecture
    private let prefix: String
    public let configuration: ModelConfiguration

    private static let all: [any Architecture.Type] = [
        BertArchitecture.self, DistilBertArchitecture.self, RobertaArchitecture.self, MPNetArchitecture.self, ElectraArchitecture.self,
        AlbertArchitecture.self,
    ]

    /// All known values of `model_type`.
    public static var modelTypes: [String] { all.flatMap { $0.modelTypes } }

    /// Reads a configuration. The result is only good where `reader` has no issues afterwards.
    ///
    /// - Parameter head: What to build; nil: as the configuration's `architectures` say.
    /// - Throws: `CheckpointIssue` when the model type is none of those known.
    public init(reading reader: inout ConfigurationReader, head override: Head?) throws {
        let names = reader.strings("architectures")
        let known = Self.modelTypes.joined(separator: ", ")
        guard let modelType = reader.string("model_type") else {
            throw CheckpointIssue(.configuration, path: reader.path, "model_type is missing, known are \(known)")
        }
        guard let type = Self.all.first(where: { $0.modelTypes.contains(modelType) }) else {
            throw CheckpointIssue(.unsupported, path: reader.path, "model_type is \(quoted(modelType)), known are \(known)")
        }
        let head = reader.head(override, architectures: names, modelType: modelType)
        let isClassifier = head == .sequenceClassification || head == .tokenClassification
        let architecture = type.init(reading: &reader)
        self.architecture = architecture
        prefix = type.prefix
        configuration = ModelConfiguration(
            modelType: modelType, architectures: names, head: head, labels: isClassifier ? reader.labels() : [],
            problemType: reader.problemType(), hiddenSize: architecture.encoder.hiddenSize,
            vocabularySize: architecture.encoder.vocabularySize, maximumPositions: architecture.maximumPositions)
    }

    /// Builds the graph over a checkpoint's tensors. The result is only good where its `weights` have no issues.
    public func build(_ files: any WeightSource, path: String) throws -> EncoderBuilder {
        let weights = WeightLoader(files, path: path, prefix: prefix)
        var builder = EncoderBuilder(name: configuration.modelType, weights: weights, configuration: architecture.encoder)
        try architecture.build(configuration.head, labels: configuration.labels.count, in: &builder)
        return builder
    }
}
