import CommandLineTools
import Foundation
import Tensors

/// Files of text that options name.
enum TextFile {
    static func text(_ path: String) throws -> String {
        let text = try Storage(mapping: URL(fileURLWithPath: path)).withUnsafeBytes { String(validating: $0, as: UTF8.self) }
        guard let text else { throw CommandError("\(path) is not valid UTF-8; convert it first, for example with iconv") }
        return text
    }

    /// The lines that are not empty.
    static func lines(_ path: String) throws -> [String] {
        let lines = try text(path).unicodeScalars.split(whereSeparator: { $0 == "\n" || $0 == "\r" }).map { String($0) }
        guard !lines.isEmpty else { throw CommandError("\(path) has no lines of text") }
        return lines
    }
}
