import JSON

/// What is said to a worker: one JSON object a line on its standard input. The end of the input ends the worker.
public enum WorkerRequest: Sendable, Hashable {
    case load(BenchmarkTask)
    /// Does the work once and says what came out.
    case answer
    /// Does the work that many times and says how long each took.
    case run(times: Int)
    /// The most memory that the process ever had.
    case memory

    public var line: String {
        switch self {
        case .load(let task): return JSONValue.object([JSONMember(key: "load", value: task.json)]).text
        case .answer: return "{\"answer\":true}"
        case .run(let times): return "{\"run\":\(times)}"
        case .memory: return "{\"memory\":true}"
        }
    }

    /// - Throws: `ProtocolError` for anything else.
    public init(line: String) throws {
        let json = try ProtocolError.parse(line)
        if let task = json["load"] {
            self = .load(try BenchmarkTask(json: task))
        } else if let times = json["run"] {
            guard let count = times.intValue, (1...1_000_000).contains(count) else { throw ProtocolError("\"run\" takes a number of times, not \(times.text)") }
            self = .run(times: count)
        } else if json["answer"]?.boolValue == true {
            self = .answer
        } else if json["memory"]?.boolValue == true {
            self = .memory
        } else {
            throw ProtocolError("unknown request \(line.prefix(80))")
        }
    }
}

/// What a worker answers: one JSON object a line on its standard output.
public enum WorkerReply: Sendable, Hashable {
    case loaded(Loaded)
    /// The contestant is not installed or does not do such work.
    case skipped(String)
    case answer([[Double]])
    case seconds([Double])
    case peakBytes(Int)
    case failed(String)

    public struct Loaded: Sendable, Hashable {
        public let version: String
        /// The form of the weights, where the precision leaves a choice: `Q8_0`.
        public let uses: String
        /// Bytes of weights that one token reads; nil where unknown.
        public let weightBytes: Int?

        public init(version: String, uses: String, weightBytes: Int? = nil) {
            self.version = version
            self.uses = uses
            self.weightBytes = weightBytes
        }
    }

    public var line: String {
        switch self {
        case .loaded(let loaded):
            return JSONValue.object([
                JSONMember(
                    key: "loaded",
                    value: [
                        "version": .string(loaded.version), "uses": .string(loaded.uses),
                        "weight_bytes": loaded.weightBytes.map { .integer($0) } ?? .null,
                    ])
            ]).text
        case .skipped(let reason): return JSONValue.object([JSONMember(key: "skipped", value: .string(reason))]).text
        case .answer(let rows):
            return JSONValue.object([
                JSONMember(key: "answer", value: .array(rows.map { .array($0.map { Int(exactly: $0).map { .integer($0) } ?? .number($0) }) }))
            ]).text
        case .seconds(let times): return JSONValue.object([JSONMember(key: "seconds", value: .array(times.map { .number($0) }))]).text
        case .peakBytes(let count): return "{\"peak_bytes\":\(count)}"
        case .failed(let reason): return JSONValue.object([JSONMember(key: "failed", value: .string(reason))]).text
        }
    }

    /// - Throws: `ProtocolError` for anything else.
    public init(line: String) throws {
        let json = try ProtocolError.parse(line)
        func numbers(_ value: JSONValue) throws -> [Double] {
            guard let items = value.arrayValue else { throw ProtocolError("a worker sent \(value.kindName) where numbers were expected") }
            return try items.map { item in
                guard let number = item.doubleValue, number.isFinite else { throw ProtocolError("a worker sent \(item.kindName) where a number was expected") }
                return number
            }
        }
        if let loaded = json["loaded"] {
            self = .loaded(
                Loaded(
                    version: loaded["version"]?.stringValue ?? "", uses: loaded["uses"]?.stringValue ?? "",
                    weightBytes: loaded["weight_bytes"]?.intValue))
        } else if let reason = json["skipped"]?.stringValue {
            self = .skipped(reason)
        } else if let rows = json["answer"]?.arrayValue {
            self = .answer(try rows.map(numbers))
        } else if let times = json["seconds"] {
            let seconds = try numbers(times)
            guard seconds.allSatisfy({ $0 >= 0 }) else { throw ProtocolError("a worker sent a negative time") }
            self = .seconds(seconds)
        } else if let count = json["peak_bytes"]?.intValue, count >= 0 {
            self = .peakBytes(count)
        } else if let reason = json["failed"]?.stringValue {
            self = .failed(reason)
        } else {
            throw ProtocolError("unknown reply \(line.prefix(80))")
        }
    }
}

/// A line that the protocol between the suite and its workers does not have.
public struct ProtocolError: Error, Sendable, Hashable, CustomStringConvertible {
    public let description: String
    public init(_ description: String) { self.description = description }

    static func parse(_ line: String) throws -> JSONValue {
        do { return try JSONParser.parse(line) } catch { throw ProtocolError("\(error), in the line \(line.prefix(80))") }
    }
}
