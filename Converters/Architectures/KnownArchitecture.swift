import GraphIR

/// The architectures that this toolkit knows, by the `model_type` of config.json.
public struct KnownArchitecture: Sendable {
    private let architecture: any Architecture
    public let configuration: ModelConfiguration

    private static let all: [any Architecture.Type] = [
        BertArchitecture.self, DistilBertArchitecture.self, RobertaArchitecture.self, MPNetArchitecture.self, ElectraArchitecture.self,
        AlbertArchitecture.self,
        GPT2Architecture.self, GPTNeoArchitecture.self, GPTNeoXArchitecture.self, OPTArchitecture.self, LlamaArchitecture.self,
        MistralArchitecture.self, Qwen2Architecture.self, Qwen3Architecture.self, Phi3Architecture.self, Gemma2Architecture.self,
        Gemma3Architecture.self,
        T5Architecture.self,
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
        let head = reader.head(override, architectures: names, modelType: modelType, known: type.heads)
        let isClassifier = head == .sequenceClassification || head == .tokenClassification
        let architecture = type.init(reading: &reader)
        self.architecture = architecture
        configuration = ModelConfiguration(
            modelType: modelType, architectures: names, head: head, labels: isClassifier ? reader.labels() : [],
            problemType: reader.problemType(), hiddenSize: architecture.configuration.hiddenSize,
            vocabularySize: architecture.configuration.vocabularySize, maximumPositions: architecture.maximumPositions)
    }

    /// Builds the graph over a checkpoint's tensors. The result is only good where its `weights` have no issues.
    ///
    /// - Throws: `CheckpointIssue` for a head that the architecture does not have, and errors of reading tensors.
    public func build(_ files: any WeightSource, path: String) throws -> BuiltModel {
        try architecture.build(configuration, files, path: path)
    }
}

/// A graph, and the account of the tensors that it was made of.
public struct BuiltModel: Sendable {
    public let graph: Graph
    public let weights: WeightLoader
}

extension Architecture {
    static var heads: [Head] { OwnHead.allCases.compactMap { Head(rawValue: $0.rawValue) } }

    fileprivate func build(_ configuration: ModelConfiguration, _ files: any WeightSource, path: String) throws -> BuiltModel {
        guard let head = OwnHead(rawValue: configuration.head.rawValue) else {
            throw CheckpointIssue(.unsupported, path: path, "\(configuration.modelType) has no head \(configuration.head.rawValue)")
        }
        let weights = WeightLoader(files, path: path, prefix: Self.prefix, anchor: Self.anchor)
        var builder = ModelBuilder(name: configuration.modelType, weights: weights, configuration: self.configuration)
        try build(head, labels: configuration.labels.count, in: &builder)
        return BuiltModel(graph: builder.graph.graph, weights: builder.weights)
    }
}
