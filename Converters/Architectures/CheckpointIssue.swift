import JSON

/// One thing that stands in the way of converting a checkpoint.
public struct CheckpointIssue: Error, Sendable, Hashable, CustomStringConvertible {
    public enum Kind: Sendable, Hashable {
        /// config.json lacks a value or has one that cannot be.
        case configuration
        /// A model type, head or option that this toolkit does not know.
        case unsupported
        case missingTensors
        case tensorShape
        case tensorType
    }
    public let kind: Kind
    /// The file at fault.
    public let path: String
    public let reason: String

    public init(_ kind: Kind, path: String, _ reason: String) {
        self.kind = kind
        self.path = path
        self.reason = reason
    }

    public var description: String { "\(path): \(reason)" }
}

/// A text from a file, on one line.
func quoted(_ text: String) -> String { JSONValue.string(text).text }
