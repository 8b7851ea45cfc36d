import CommandLineTools
import Foundation
import JSON
import Tasks
import Tensors

let chatCommand = Command(
    name: "chat", summary: "talk with a language model", operands: "[MESSAGE ...]",
    discussion: """
        The conversation goes through the model's own chat template. At a terminal lines can be edited, and these words have a meaning:
          /system TEXT   start anew with that system message (none without TEXT)
          /reset         start anew, the system message stays
          /save FILE     write the conversation as JSON
          /help, /quit
        Without a terminal each line of standard input is a message, and each answer goes to standard output. A MESSAGE on the command line is
        answered, and that is all.
        With --json each answer is {"role","content","finish_reason"}.
        """,
    options: [CommonOptions.model, CommandOption("system", argument: "TEXT", help: "the system message")] + GenerationArguments.sampling + [
        CommandOption("context-shift", help: "when the context is full, forget the oldest turns instead of stopping"),
        CommandOption("stats", help: "show tokens per second"),
        GenerationArguments.context, CommonOptions.json, CommonOptions.threads, CommonOptions.quiet,
    ],
    examples: [
        "mlrun chat",
        "mlrun chat --system \"Answer in one sentence.\" \"Why is the sky blue?\"",
        "mlrun chat --greedy --json < questions.txt",
    ]
) { arguments in
    let complete = try GenerationArguments.options(arguments)
    let model = try GenerationArguments.model(arguments)
    let options = complete(model)
    let chat = try ChatSession(model, system: arguments.value("system"), shiftsContext: arguments.has("context-shift"))
    let isQuiet = arguments.has("quiet")

    func say(_ text: String) throws {
        let isJSON = arguments.has("json")
        let answer = try chat.send(text, options: options) { piece in
            guard !isJSON, !piece.text.isEmpty else { return }
            try StandardOutput.write(piece.text)
            try StandardOutput.flush()
        }
        if isJSON {
            try StandardOutput.write(
                JSONValue.object([
                    JSONMember(key: "role", value: .string("assistant")), JSONMember(key: "content", value: .string(answer.text)),
                    JSONMember(key: "finish_reason", value: .string(answer.finishReason.rawValue)),
                ]).text + "\n")
        } else {
            try StandardOutput.write("\n")
        }
        try StandardOutput.flush()
        if arguments.has("stats") { GenerationArguments.report(answer.statistics) }
        if isQuiet { return }
        if answer.finishReason == .context { StandardError.write("mlrun: the answer ends here because the context of \(model.contextLength) tokens is full\n") }
        if chat.forgottenMessages > 0 { StandardError.write("mlrun: the first \(chat.forgottenMessages) messages did not fit and were left out\n") }
    }

    if !arguments.operands.isEmpty {
        for message in arguments.operands { try say(message) }
        return
    }
    guard isatty(STDIN_FILENO) == 1 else {
        var reader = LineReader()
        while let line = try reader.next() {
            if !line.isEmpty { try say(line) }
        }
        return
    }
    if !isQuiet { StandardError.write("Type a message; /help lists the commands, Ctrl-D ends.\n") }
    while let line = LineEditor.next(prompt: "> ") {
        // What goes wrong with one message is told; the conversation goes on.
        do {
            if try ChatWord.obey(line, chat) { continue }
            if line == "/quit" { return }
            if !line.allSatisfy(\.isWhitespace) { try say(line) }
        } catch let error as OutputError {
            throw error
        } catch {
            StandardError.write("mlrun: \(error)\n")
        }
    }
    StandardError.write("\n")
}

/// The words with a slash.
private enum ChatWord {
    /// - Returns: false where the line is a message, or /quit.
    static func obey(_ line: String, _ chat: ChatSession) throws -> Bool {
        guard line.hasPrefix("/") else { return false }
        let parts = line.split(separator: " ", maxSplits: 1)
        let rest = parts.count > 1 ? String(parts[1]) : nil
        switch parts.first {
        case "/system": chat.setSystem(rest)
        case "/reset": chat.reset()
        case "/save":
            guard let rest else { throw CommandError("/save needs the name of a file") }
            try AtomicFile.write(to: URL(fileURLWithPath: rest)) { try $0.write(Array((chat.json.text + "\n").utf8)) }
            StandardError.write("saved \(chat.messages.count) messages to \(rest)\n")
        case "/help": StandardError.write("/system TEXT   start anew with that system message\n/reset         start anew\n/save FILE     write the conversation as JSON\n/quit          end\n")
        case "/quit": return false
        default: throw CommandError("there is no command \(parts.first ?? "/"); /help lists them. A message cannot begin with a slash")
        }
        return true
    }
}
