import CommandLineTools
import Foundation
import Tasks

/// Options that several commands share.
enum CommonOptions {
    static let model = CommandOption(
        "model", short: "m", argument: "MODEL", help: "a .graph file or a name of 'mlrun models'; the default depends on the command")
    static let threads = CommandOption("threads", argument: "N", help: "threads for the arithmetic (default: one per core)")
    static let maximumLength = CommandOption("max-length", argument: "N", help: "cut inputs to N tokens")
    static let json = CommandOption("json", help: "one JSON object a line")
    static let quiet = CommandOption("quiet", short: "q", help: "no warnings and no progress on standard error")

    static func modelOptions(_ arguments: Arguments) throws -> ModelOptions {
        ModelOptions(
            threads: try arguments.integer("threads", in: 1...1024),
            maximumLength: arguments.has("max-length") ? try arguments.integer("max-length", in: 1...1_000_000) : nil)
    }

    /// The model that -m names, or the installed default for the task.
    static func modelURL(_ arguments: Arguments, defaultTask: String) throws -> URL {
        let catalogue = try ModelCatalogue()
        if let name = arguments.value("model") { return try catalogue.locate(name) }
        return try catalogue.locateDefault(forTask: defaultTask)
    }

    /// A model that has no default: -m or the first operand.
    static func requiredModelURL(_ arguments: Arguments) throws -> URL {
        guard let name = arguments.value("model") ?? arguments.operands.first else {
            throw UsageError("name a model: a .graph file or a name of 'mlrun models'")
        }
        return try ModelCatalogue().locate(name)
    }
}

/// The texts of a command: its operands, else the lines of standard input.
enum TextInput {
    /// Calls `body` with portions of texts, in order. Lines that have arrived are answered before the next ones are waited for.
    static func forEachBatch(_ arguments: Arguments, size: Int = 256, _ body: ([String]) throws -> Void) throws {
        if !arguments.operands.isEmpty { return try body(arguments.operands) }
        var reader = LineReader()
        var batch: [String] = []
        while true {
            let line: String?
            do { line = try reader.next() } catch {
                // The good lines before a bad one are answered.
                if !batch.isEmpty { try body(batch) }
                throw error
            }
            guard let line else { break }
            batch.append(line)
            if batch.count >= size || !reader.hasBufferedLine {
                try body(batch)
                try StandardOutput.flush()
                batch.removeAll()
            }
        }
        if !batch.isEmpty { try body(batch) }
    }
}

/// Tells how many tokens did not fit, once a command.
struct TruncationNotice {
    private var texts = 0
    private var tokens = 0

    mutating func count(_ truncated: Int) {
        guard truncated > 0 else { return }
        texts += 1
        tokens += truncated
    }

    func report(_ arguments: Arguments) {
        guard texts > 0, !arguments.has("quiet") else { return }
        StandardError.write("mlrun: \(texts == 1 ? "1 text was" : "\(texts) texts were") cut: \(tokens) tokens beyond the model's length\n")
    }
}

/// A number for people: four decimals.
func decimal(_ value: Float, digits: Int = 4) -> String { String(format: "%.\(digits)f", Double(value)) }
