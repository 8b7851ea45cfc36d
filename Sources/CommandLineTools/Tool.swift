#if canImport(Glibc)
import Glibc
#elseif canImport(Musl)
import Musl
#elseif canImport(Darwin)
import Darwin
#endif

/// A program: finds the command that the first word names, parses its options, runs it, and turns errors into one line on
/// stderr and an exit status (1 for failures, 2 for wrong usage).
public struct Tool: Sendable {
    public let name: String
    public let version: String
    public let summary: String
    public let commands: [Command]
    /// The command that runs when the first word names none.
    public let fallback: String?

    public init(name: String, version: String, summary: String, commands: [Command], fallback: String? = nil) {
        self.name = name
        self.version = version
        self.summary = summary
        self.commands = commands
        self.fallback = fallback
    }

    private static let helpOption = CommandOption("help", short: "h", help: "show this help")

    /// Runs the process's command line and ends the process.
    public func main() -> Never {
        exit(run(Array(CommandLine.arguments.dropFirst())))
    }

    /// Runs a command line; returns the exit status.
    public func run(_ words: [String]) -> Int32 {
        do {
            try dispatch(words)
            try StandardOutput.flush()
            return 0
        } catch let error as UsageError {
            try? StandardOutput.flush()
            StandardError.write("\(name): \(error)\nTry '\(name) --help'.\n")
            return 2
        } catch {
            // What was answered before the failure stands; a reader that has gone away ends the work without a word.
            try? StandardOutput.flush()
            if case .closed = error as? OutputError { return 1 }
            StandardError.write("\(name): \(Self.oneLine("\(error)"))\n")
            return 1
        }
    }

    private func dispatch(_ words: [String]) throws {
        guard let first = words.first else {
            if fallback == nil || isatty(STDIN_FILENO) == 1 {
                throw UsageError("no command given")
            }
            return try start(fallback, words)
        }
        switch first {
        case "--help", "-h": return try StandardOutput.write(help)
        case "help":
            guard words.count > 1 else { return try StandardOutput.write(help) }
            guard let command = commands.first(where: { $0.name == words[1] }) else { throw unknown(words[1]) }
            return try StandardOutput.write(help(of: command))
        case "--version": return try StandardOutput.write("\(name) \(version)\n")
        default: break
        }
        if commands.contains(where: { $0.name == first }) { return try start(first, Array(words.dropFirst())) }
        guard fallback != nil else { throw unknown(first) }
        try start(fallback, words)
    }

    private func unknown(_ word: String) -> UsageError {
        UsageError("unknown command '\(word)'; the commands are \(commands.map(\.name).joined(separator: ", "))")
    }

    private func start(_ commandName: String?, _ words: [String]) throws {
        guard let command = commands.first(where: { $0.name == commandName }) else { throw unknown(commandName ?? "") }
        let arguments = try Arguments(words, options: command.options + [Self.helpOption])
        if arguments.has("help") { return try StandardOutput.write(help(of: command)) }
        try command.run(arguments)
    }

    private static func oneLine(_ text: String) -> String {
        text.split(whereSeparator: \.isNewline).joined(separator: " ")
    }

    /// The overview.
    public var help: String {
        var text = "\(name): \(summary)\n\nUsage: \(name) COMMAND [options] [arguments]\n"
        if let fallback { text += "       \(name) [options] arguments    (short for \(name) \(fallback))\n" }
        text += "\nCommands:\n"
        let width = commands.map(\.name.utf8.count).max() ?? 0
        for command in commands {
            text += "  \(command.name)\(String(repeating: " ", count: width - command.name.utf8.count))  \(command.summary)\n"
        }
        text += "\n'\(name) COMMAND --help' explains a command and shows examples.\n"
        text += "Results go to standard output, everything else to standard error. Exit status: 0 success, 1 failure, 2 wrong usage.\n"
        return text
    }

    /// The help of one command.
    public func help(of command: Command) -> String {
        let call = command.name == fallback && commands.count > 1 ? "\(name) [\(command.name)]" : "\(name) \(command.name)"
        var text = "\(command.summary)\n\nUsage: \(call) [options]\(command.operands.isEmpty ? "" : " " + command.operands)\n"
        if !command.discussion.isEmpty { text += "\n\(command.discussion)\n" }
        text += "\nOptions:\n"
        let rows = (command.options + [Self.helpOption]).map { option in
            let short = option.short.map { "-\($0), " } ?? "    "
            return (short + "--\(option.long)" + (option.argument.map { " \($0)" } ?? ""), option.help)
        }
        let width = min(rows.map(\.0.utf8.count).max() ?? 0, 30)
        for (left, right) in rows {
            let lines = Self.wrap(right, width: 100 - width - 4)
            text += "  " + left
            text += left.utf8.count > width ? "\n" + String(repeating: " ", count: width + 4) : String(repeating: " ", count: width - left.utf8.count + 2)
            text += lines.joined(separator: "\n" + String(repeating: " ", count: width + 4)) + "\n"
        }
        if !command.examples.isEmpty {
            text += "\nExamples:\n" + command.examples.map { "  \($0)\n" }.joined()
        }
        return text
    }

    private static func wrap(_ text: String, width: Int) -> [String] {
        var lines: [String] = []
        var line = ""
        for word in text.split(separator: " ") {
            if !line.isEmpty, line.utf8.count + word.utf8.count + 1 > width {
                lines.append(line)
                line = ""
            }
            line += (line.isEmpty ? "" : " ") + word
        }
        return lines + [line]
    }
}
