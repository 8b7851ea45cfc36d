import JSON

/// What a worker is told to load: a case with the place of its files and the threads.
public struct BenchmarkTask: Sendable, Hashable {
    public enum Work: Sendable, Hashable {
        case rows([[Int]])
        case prompt([Int], newTokens: Int)
        /// The first `count` lines of a text file.
        case lines(file: String, count: Int)
    }

    /// `start` never reaches a worker: it is what its `encode` or `decode` work takes in a new process.
    public let kind: BenchmarkCase.Kind
    public let precision: BenchmarkCase.Precision?
    public let threads: Int
    /// The folder of the model, which holds it in every contestant's format.
    public let folder: String
    public let work: Work

    public init(kind: BenchmarkCase.Kind, precision: BenchmarkCase.Precision?, threads: Int, folder: String, work: Work) {
        self.kind = kind
        self.precision = precision
        self.threads = threads
        self.folder = folder
        self.work = work
    }

    /// - Parameter models: The folder with the benchmark's models and its text.
    public init(_ item: BenchmarkCase, threads: Int, models: String) {
        let work: Work
        switch item.work {
        case .rows(let rows): work = .rows(rows)
        case .prompt(let ids, let newTokens): work = .prompt(ids, newTokens: newTokens)
        case .lines(let count): work = .lines(file: "\(models)/text.txt", count: count)
        }
        var kind = item.kind
        if kind == .start {
            if case .rows = work { kind = .encode } else { kind = .decode }
        }
        self.init(kind: kind, precision: item.precision, threads: threads, folder: "\(models)/\(item.model)", work: work)
    }

    var json: JSONValue {
        var members = [
            JSONMember(key: "kind", value: .string(kind.rawValue)), JSONMember(key: "precision", value: precision.map { .string($0.rawValue) } ?? .null),
            JSONMember(key: "threads", value: .integer(threads)), JSONMember(key: "folder", value: .string(folder)),
        ]
        switch work {
        case .rows(let rows):
            members.append(JSONMember(key: "rows", value: .array(rows.map { .array($0.map { .integer($0) }) })))
        case .prompt(let ids, let newTokens):
            members.append(JSONMember(key: "prompt", value: .array(ids.map { .integer($0) })))
            members.append(JSONMember(key: "new_tokens", value: .integer(newTokens)))
        case .lines(let file, let count):
            members.append(JSONMember(key: "text_file", value: .string(file)))
            members.append(JSONMember(key: "lines", value: .integer(count)))
        }
        return .object(members)
    }

    init(json: JSONValue) throws {
        guard let kind = json["kind"]?.stringValue.flatMap(BenchmarkCase.Kind.init), kind != .start else {
            throw ProtocolError("a task needs a \"kind\" that a worker knows")
        }
        guard let threads = json["threads"]?.intValue, (1...1024).contains(threads) else {
            throw ProtocolError("a task needs \"threads\" from 1 to 1024")
        }
        guard let folder = json["folder"]?.stringValue else { throw ProtocolError("a task needs the \"folder\" of its model") }
        var precision: BenchmarkCase.Precision?
        if let name = json["precision"], !name.isNull {
            guard let known = name.stringValue.flatMap(BenchmarkCase.Precision.init) else { throw ProtocolError("unknown precision \(name.text)") }
            precision = known
        }
        func integers(_ value: JSONValue) throws -> [Int] {
            try (value.arrayValue ?? []).map { item in
                guard let number = item.intValue else { throw ProtocolError("a token id is \(item.kindName), not a whole number") }
                return number
            }
        }
        let work: Work
        if let rows = json["rows"]?.arrayValue {
            work = .rows(try rows.map(integers))
        } else if let prompt = json["prompt"], let count = json["new_tokens"]?.intValue {
            work = .prompt(try integers(prompt), newTokens: count)
        } else if let file = json["text_file"]?.stringValue, let count = json["lines"]?.intValue, count >= 0 {
            work = .lines(file: file, count: count)
        } else {
            throw ProtocolError("a task needs \"rows\", a \"prompt\" with \"new_tokens\", or a \"text_file\" with \"lines\"")
        }
        self.init(kind: kind, precision: precision, threads: threads, folder: folder, work: work)
    }
}
