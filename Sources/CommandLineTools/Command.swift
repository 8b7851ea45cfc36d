/// One option of a command: `--top N`, `-m MODEL`.
public struct CommandOption: Sendable, Hashable {
    public let long: String
    public let short: Unicode.Scalar?
    /// What the help shows for the argument (`N`); nil for a flag.
    public let argument: String?
    public let help: String

    public init(_ long: String, short: Unicode.Scalar? = nil, argument: String? = nil, help: String) {
        self.long = long
        self.short = short
        self.argument = argument
        self.help = help
    }
}

/// A command or subcommand: what its help says, what it accepts, and what it does.
public struct Command: Sendable {
    public let name: String
    /// One line for the list of commands.
    public let summary: String
    /// The operands in the usage line: `INPUT`, `[TEXT ...]`.
    public let operands: String
    /// Paragraphs under the usage line; already wrapped.
    public let discussion: String
    public let options: [CommandOption]
    public let examples: [String]
    public let run: @Sendable (Arguments) throws -> Void

    public init(
        name: String, summary: String, operands: String = "", discussion: String = "", options: [CommandOption] = [],
        examples: [String] = [], run: @escaping @Sendable (Arguments) throws -> Void
    ) {
        self.name = name
        self.summary = summary
        self.operands = operands
        self.discussion = discussion
        self.options = options
        self.examples = examples
        self.run = run
    }
}

/// A command line that a command does not accept: exit status 2.
public struct UsageError: Error, Sendable, Hashable, CustomStringConvertible {
    public let description: String
    public init(_ description: String) { self.description = description }
}

/// A failure with a message that says all: exit status 1.
public struct CommandError: Error, Sendable, Hashable, CustomStringConvertible {
    public let description: String
    public init(_ description: String) { self.description = description }
}
