import CEditLine
import Foundation

/// Lines that a person types, with editing and history.
enum LineEditor {
    /// The next line without its end; nil at the end of the input.
    static func next(prompt: String) -> String? {
        guard let line = readline(prompt) else { return nil }
        defer { free(line) }
        if line.pointee != 0 { add_history(line) }
        return String(cString: line)
    }
}
