import GraphIR
import Tensors

/// A family of models: its configuration as typed values, and the graph that it describes.
protocol Architecture: Sendable {
    associatedtype Configuration: ModelSizes
    /// The heads that can stand on it, under the names of `Head`.
    associatedtype OwnHead: RawRepresentable<String> & CaseIterable

    /// The `model_type` values of config.json that mean it.
    static var modelTypes: [String] { get }
    /// The reference implementation's name of the model inside one with a head, with a dot.
    static var prefix: String { get }
    /// A tensor that every checkpoint has, by which the prefix of a file is found.
    static var anchor: String { get }

    init(reading reader: inout ConfigurationReader)

    var configuration: Configuration { get }
    /// The longest sequence; nil: any.
    var maximumPositions: Int? { get }

    /// Writes inputs, nodes and outputs.
    func build(_ head: OwnHead, labels: Int, in builder: inout ModelBuilder<Configuration>) throws
}

/// An encoder that reads a text at once.
protocol EncoderArchitecture: Architecture where Configuration == EncoderConfiguration, OwnHead == EncoderHead {
    var encoder: EncoderConfiguration { get }
}

extension EncoderArchitecture {
    static var anchor: String { "embeddings.word_embeddings.weight" }
    var configuration: EncoderConfiguration { encoder }
}

/// A decoder that reads a text token by token, with a cache of what it has seen.
protocol DecoderArchitecture: Architecture where Configuration == DecoderConfiguration, OwnHead == DecoderHead {
    var decoder: DecoderConfiguration { get }
    func build(_ head: DecoderHead, in builder: inout DecoderBuilder) throws
}

extension DecoderArchitecture {
    var configuration: DecoderConfiguration { decoder }
    func build(_ head: DecoderHead, labels: Int, in builder: inout DecoderBuilder) throws { try build(head, in: &builder) }
}
