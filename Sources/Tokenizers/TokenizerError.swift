/// Why a tokenizer could not be read or could not do its work. `description` is one line.
public enum TokenizerError: Error, Sendable, Equatable, CustomStringConvertible {
    /// A file is missing or cannot be read.
    case unreadable(file: String, reason: String)
    /// A file is not valid JSON at the byte `offset`.
    case malformedJSON(offset: Int, reason: String)
    /// A component or setting has a wrong or missing value. `path` is its place, such as `pre_tokenizer.pattern`.
    case invalid(path: String, reason: String)
    /// The reference has this, this library does not (or will not, because its result is random).
    case unsupported(path: String, reason: String)
    /// A compiled tokenizer is damaged, cut off or of another version.
    case malformedCompiled(reason: String)
    /// Matching a pattern of the tokenizer took too many steps.
    case patternLimit(pattern: String)
    /// Truncation settings that cannot be met.
    case truncation(reason: String)
    /// The input cannot be encoded, for instance because it is longer than 2 GiB.
    case input(reason: String)
    /// Another error, with the name of the file it came from.
    indirect case inFile(String, TokenizerError)

    public var description: String { Self.oneLine(text) }

    /// Text from a file may hold anything: control characters are written as escapes, and it is cut to a sensible length.
    private static func oneLine(_ text: String) -> String {
        var line = ""
        for scalar in text.unicodeScalars.prefix(600) {
            switch scalar.value {
            case 0..<0x20, 0x7F..<0xA0, 0x2028, 0x2029: line += "\\u{\(String(scalar.value, radix: 16))}"
            default: line.unicodeScalars.append(scalar)
            }
        }
        return line
    }

    private var text: String {
        switch self {
        case .unreadable(let file, let reason): "\(file): \(reason)"
        case .malformedJSON(let offset, let reason): "tokenizer JSON, byte \(offset): \(reason)"
        case .invalid(let path, let reason): "tokenizer, \(path): \(reason)"
        case .unsupported(let path, let reason): "tokenizer, \(path): not supported: \(reason)"
        case .malformedCompiled(let reason): "compiled tokenizer: \(reason); convert the model again"
        case .patternLimit(let pattern): "tokenizer pattern \(pattern): the text needs too many matching steps; split the text"
        case .truncation(let reason): "truncation: \(reason)"
        case .input(let reason): "tokenizer input: \(reason)"
        case .inFile(let file, let error): "\(file): \(error.description)"
        }
    }
}
