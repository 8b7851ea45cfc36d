import JSON

/// What is wrong with a safetensors file or an index of such files, and where.
public struct SafetensorsError: Error, Sendable, Hashable, CustomStringConvertible {
    public enum Place: Sendable, Hashable {
        case file
        /// An offset from the start of the file.
        case byte(Int)
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
        case .tensor(let name): return "\(path), tensor \(JSONValue.string(name).text): \(reason)"
        }
    }
}
