/// A template that cannot be read or rendered.
public struct TemplateError: Error, Sendable, Hashable, CustomStringConvertible {
    public enum Kind: Sendable, Hashable {
        case syntax
        /// A value is undefined or of the wrong type, a function or filter is unknown.
        case evaluation
        /// The template itself called `raise_exception`.
        case raised
        /// More steps, depth or output than any real template needs.
        case limit
    }
    public let kind: Kind
    /// Of the template, from 1.
    public let line: Int
    public let reason: String

    public init(_ kind: Kind, line: Int, _ reason: String) {
        self.kind = kind
        self.line = line
        self.reason = reason
    }

    public var description: String {
        kind == .raised ? "the chat template refuses the messages: \(reason)" : "chat template, line \(line): \(reason)"
    }
}
