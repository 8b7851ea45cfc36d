import GraphIR
import Tensors

/// A converted ONNX model.
public struct ONNXConversion: Sendable {
    /// Inputs and outputs have the names of the file.
    public var graph: Graph
    /// What a user should know although the conversion succeeded, one line each.
    public var warnings: [String]
    public var information: ONNXInformation
    /// Inputs of the graph that have a default value in the file; empty unless `ONNXImporter.Options` asks for such inputs.
    public var inputDefaults: [(name: String, value: Tensor)]
}

/// What an ONNX file says of itself.
public struct ONNXInformation: Sendable, Hashable {
    public let irVersion: Int
    public let opsets: [OpsetImport]
    /// Name and version of the program that wrote the file; may be empty.
    public let producer: String
    public let metadataProperties: [MetadataProperty]
    /// Side files that hold tensors, relative to the model's folder.
    public let externalFiles: [String]
}

/// One thing that stands in the way of a conversion.
public struct ConversionIssue: Sendable, Hashable, CustomStringConvertible {
    public let kind: ONNXError.Kind
    /// The operator (`domain::name` outside the standard domain), when an operator is the matter.
    public let operatorName: String?
    /// The version of the operator set.
    public let opset: Int?
    /// The nodes' names (of unnamed nodes the first output).
    public let nodes: [String]
    /// Element types of the operands, as far as the file declares them.
    public let elementTypes: [String]
    /// One line.
    public let description: String
}
