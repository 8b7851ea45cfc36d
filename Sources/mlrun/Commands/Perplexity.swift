import CommandLineTools
import Foundation
import JSON
import Tasks
import Tensors

let perplexityCommand = Command(
    name: "perplexity", summary: "measure how well a language model predicts a text", operands: "FILE",
    discussion: """
        The text runs through the model in windows; each predicts the tokens that the one before did not reach. Shown is the exponential of
        the mean negative log-probability of a token: lower is better. FILE is - for standard input.
        With --json: {"perplexity","tokens","bits_per_byte"}.
        """,
    options: [
        CommonOptions.model,
        CommandOption("window", argument: "N", help: "tokens of a window (default: the context, up to 1024)"),
        CommandOption("overlap", argument: "N", help: "tokens of a window that only give context (default: half of it)"),
        GenerationArguments.context, CommonOptions.json, CommonOptions.threads,
    ],
    examples: ["mlrun perplexity book.txt", "mlrun perplexity -m tiny.graph --window 256 --json book.txt"]
) { arguments in
    guard arguments.operands.count == 1, let path = arguments.operands.first else { throw UsageError("name one text file, or - for standard input") }
    let window = try arguments.integer("window", in: 2...1 << 24)
    let overlap = try arguments.integer("overlap", in: 0...1 << 24)
    let text = try wholeText(path)
    let generator = TextGenerator(model: try GenerationArguments.model(arguments))
    let bar = ProgressBar("perplexity", total: 1000)
    var shown = 0
    defer { bar.finish() }
    let result = try generator.perplexity(of: text, window: window, overlap: overlap) { share in
        let done = Int(share * 1000)
        bar.advance(by: done - shown)
        shown = done
    }
    bar.finish()
    if arguments.has("json") {
        try StandardOutput.write(
            JSONValue.object([
                JSONMember(key: "perplexity", value: .number(result.value)), JSONMember(key: "tokens", value: .integer(result.tokens)),
                JSONMember(key: "bits_per_byte", value: .number(result.bitsPerByte)),
            ]).text + "\n")
    } else {
        try StandardOutput.write("\(decimal(Float(result.value)))\t\(result.tokens) tokens\t\(decimal(Float(result.bitsPerByte))) bits per byte\n")
    }
}

/// The whole of a text file, or of standard input for `-`.
private func wholeText(_ path: String) throws -> String {
    if path == "-" {
        var reader = LineReader()
        var text = ""
        while let line = try reader.next() { text += line + "\n" }
        return text
    }
    let text = try Storage(mapping: URL(fileURLWithPath: path)).withUnsafeBytes { String(validating: $0, as: UTF8.self) }
    guard let text else { throw CommandError("\(path) is not valid UTF-8; convert it first, for example with iconv") }
    return text
}
