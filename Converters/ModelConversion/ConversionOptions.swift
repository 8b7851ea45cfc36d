import Foundation
import GraphFile
import Optimizer

/// What the caller wants different from what lies beside the model.
public struct ConversionOptions: Sendable {
    /// What the model answers; nil: as its configuration and outputs tell.
    public var task: ModelDescription.Task?
    /// A tokenizer.json, vocab.txt or folder; nil: beside the model.
    public var tokenizer: URL?
    /// Label by output index; nil: as the configuration says.
    public var labels: [String]?
    public var pooling: ModelDescription.Pooling?
    public var maximumLength: Int?
    /// The graph output that answers the task; nil: the one whose name and type fit.
    public var output: String?
    /// Fuse and fold.
    public var optimizes = true
    /// How weights are stored; nil: as they are in the source.
    public var quantization: WeightStorage?
    /// Measures the layers of the model before `quantization` becomes int8, by the names of their outputs.
    public var calibration: (@Sendable (GraphFile) throws -> [String: LayerMeasurement])?

    public init() {}
}

/// A model that cannot be converted, or options that do not fit it.
public struct ConversionError: Error, Sendable, Hashable, CustomStringConvertible {
    public let description: String
    init(_ description: String) { self.description = description }
}
