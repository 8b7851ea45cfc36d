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

    /// One line: names and texts of a template may hold control characters, which are written as escapes.
    public var description: String {
        let text = kind == .raised ? "the chat template refuses the messages: \(reason)" : "chat template, line \(line): \(reason)"
        return text.unicodeScalars.map { scalar in
            scalar.properties.generalCategory == .control || scalar == "\u{2028}" || scalar == "\u{2029}"
                ? scalar.escaped(asASCII: true) : String(scalar)
        }.joined()
    }
}
