import JSON

/// What is wrong with a GGUF file, and where.
public struct GGUFError: Error, Sendable, Hashable, CustomStringConvertible {
    public enum Place: Sendable, Hashable {
        case file
        /// An offset from the start of the file.
        case byte(Int)
        case key(String)
        case tensor(String)
    }
    public let path: String
    public let place: Place
    public let reason: String

    public init(path: String, place: Place = .file, reason: String) {
        self.path = path
        self.place = place
        self.reason = reason
    }

    public var description: String {
        switch place {
        case .file: return "\(path): \(reason)"
        case .byte(let offset): return "\(path), byte \(offset): \(reason)"
        case .key(let name): return "\(path), key \(quoted(name)): \(reason)"
        case .tensor(let name): return "\(path), tensor \(quoted(name)): \(reason)"
        }
    }
}

/// A text from a file, on one line.
func quoted(_ text: String) -> String { JSONValue.string(text).text }
