/// Why an ONNX model cannot be converted.
public struct ONNXError: Error, Sendable, Hashable, CustomStringConvertible {
    /// What is wrong, in classes that a caller may want to tell apart.
    public enum Kind: String, Sendable, Hashable, CaseIterable {
        case unsupportedOperator = "unsupported_op"
        case unsupportedType = "unsupported_type"
        case unsupportedVersion = "unsupported_version"
        case typeMismatch = "type_mismatch"
        case shapeMismatch = "shape_mismatch"
        /// Damaged, or against the rules of the format.
        case malformedFile = "malformed_file"
        case invalidExternalPath = "invalid_external_path"
        case missingExternalData = "missing_external_data"
        case cyclicGraph = "cyclic_graph"
        case duplicateName = "duplicate_name"
        case undefinedValue = "undefined_value"
    }
    public let kind: Kind
    /// The model file.
    public let path: String
    public let reason: String

    public init(_ kind: Kind, path: String, _ reason: String) {
        self.kind = kind
        self.path = path
        self.reason = reason
    }

    public var description: String { "\(path): \(reason)" }
}
