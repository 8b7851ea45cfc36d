import Foundation
import JSON

/// The results of one run of the suite, as its JSON file holds them.
public struct BenchmarkResults: Sendable, Hashable {
    public var machine: Machine
    /// When the run began, UTC, ISO 8601.
    public var date: String
    public var cases: [CaseResult]

    public init(machine: Machine, date: String, cases: [CaseResult]) {
        self.machine = machine
        self.date = date
        self.cases = cases
    }
}

/// One case with one number of threads.
public struct CaseResult: Sendable, Hashable {
    public var name: String
    public var kind: BenchmarkCase.Kind
    public var threads: Int
    /// Sentences, tokens or bytes that one repetition works through.
    public var work: Int
    public var contestants: [ContestantResult]
    public var absent: [Absent]

    /// A contestant that has no times here, and why.
    public struct Absent: Sendable, Hashable {
        public var name: String
        public var reason: String
    }

    public var own: ContestantResult? { contestants.first { $0.name == Contestant.own } }

    /// The peer with the least median.
    public var fastestPeer: ContestantResult? {
        contestants.filter { $0.name != Contestant.own && $0.statistics != nil }
            .min { ($0.statistics?.median ?? .infinity) < ($1.statistics?.median ?? .infinity) }
    }

    /// The fastest peer's time by this project's, over the rounds: above 1 this project is faster.
    public var ratio: Statistics? {
        guard let own, let peer = fastestPeer else { return nil }
        return Statistics.ratios(of: peer.rounds, to: own.rounds)
    }
}

public struct ContestantResult: Sendable, Hashable {
    public var name: String
    public var version: String
    /// The form of the weights, where the precision leaves a choice.
    public var uses: String
    /// Seconds of one repetition, a value a round.
    public var rounds: [Double]
    /// From the start of the process until it was ready, in this run, with the files in the page cache.
    public var loadSeconds: Double
    public var peakBytes: Int
    /// With this project's answer; 1 is equal.
    public var agreement: Double
    public var weightBytes: Int?

    public var statistics: Statistics? { Statistics(rounds) }
}

// MARK: - JSON

extension BenchmarkResults {
    public static let format = 1

    public var json: JSONValue {
        [
            "format": .integer(Self.format), "date": .string(date), "machine": machine.json,
            "cases": .array(
                cases.map { item in
                    [
                        "name": .string(item.name), "kind": .string(item.kind.rawValue), "threads": .integer(item.threads), "work": .integer(item.work),
                        "contestants": .array(item.contestants.map(\.json)),
                        "absent": .array(item.absent.map { ["name": .string($0.name), "reason": .string($0.reason)] }),
                    ]
                }),
        ]
    }

    /// - Throws: `ResultsError` naming the file and the member at fault.
    public init(contentsOf url: URL) throws {
        let reader: ResultsReader
        do {
            reader = ResultsReader(json: try JSONParser.parse(try Data(contentsOf: url)), place: url.lastPathComponent)
        } catch let error as JSONError {
            throw ResultsError(description: "\(url.lastPathComponent): \(error)")
        } catch {
            throw ResultsError(description: "cannot read \(url.path): \(error.localizedDescription)")
        }
        try self.init(reader)
    }

    init(_ reader: ResultsReader) throws {
        let format = try reader.integer("format")
        guard format == Self.format else {
            throw ResultsError(description: "\(reader.place) has format \(format), this program reads \(Self.format); run the suite again")
        }
        machine = try Machine(reader.object("machine"))
        date = try reader.string("date")
        cases = try reader.array("cases").map { item in
            guard let kind = BenchmarkCase.Kind(rawValue: try item.string("kind")) else {
                throw ResultsError(description: "\(item.place).kind is no kind of case: \(try item.string("kind"))")
            }
            return CaseResult(
                name: try item.string("name"), kind: kind, threads: try item.integer("threads"), work: try item.integer("work"),
                contestants: try item.array("contestants").map(ContestantResult.init),
                absent: try item.array("absent").map { CaseResult.Absent(name: try $0.string("name"), reason: try $0.string("reason")) })
        }
    }
}

extension ContestantResult {
    var json: JSONValue {
        [
            "name": .string(name), "version": .string(version), "uses": .string(uses), "seconds": .array(rounds.map { .number($0) }),
            "load_seconds": .number(loadSeconds), "peak_bytes": .integer(peakBytes), "agreement": .number(agreement),
            "weight_bytes": weightBytes.map { .integer($0) } ?? .null,
        ]
    }

    init(_ reader: ResultsReader) throws {
        self.init(
            name: try reader.string("name"), version: try reader.string("version"), uses: try reader.string("uses"),
            rounds: try reader.numbers("seconds"), loadSeconds: try reader.number("load_seconds"), peakBytes: try reader.integer("peak_bytes"),
            agreement: try reader.number("agreement"), weightBytes: reader.json["weight_bytes"]?.intValue)
    }
}

/// A results file that is not one.
public struct ResultsError: Error, Sendable, Hashable, CustomStringConvertible { public let description: String }

/// Typed access to a JSON object that knows its place, for errors.
struct ResultsReader {
    let json: JSONValue
    let place: String

    private func value<Value>(_ key: String, _ what: String, _ get: (JSONValue) -> Value?) throws -> Value {
        guard let member = json[key] else { throw ResultsError(description: "\(place).\(key) is missing; is this a results file of mlbench?") }
        guard let value = get(member) else { throw ResultsError(description: "\(place).\(key) is \(member.kindName), expected \(what)") }
        return value
    }

    func string(_ key: String) throws -> String { try value(key, "a string", \.stringValue) }
    func integer(_ key: String) throws -> Int { try value(key, "a whole number", \.intValue) }
    func number(_ key: String) throws -> Double { try value(key, "a number") { $0.doubleValue.flatMap { $0.isFinite ? $0 : nil } } }
    func object(_ key: String) throws -> ResultsReader { ResultsReader(json: try value(key, "an object") { $0.members.isEmpty ? Optional.none : $0 }, place: "\(place).\(key)") }

    func array(_ key: String) throws -> [ResultsReader] {
        try value(key, "an array", \.arrayValue).enumerated().map { ResultsReader(json: $1, place: "\(place).\(key)[\($0)]") }
    }

    func numbers(_ key: String) throws -> [Double] {
        try value(key, "an array of numbers") { member in
            guard let items = member.arrayValue else { return nil }
            let numbers = items.compactMap(\.doubleValue).filter { $0.isFinite && $0 >= 0 }
            return numbers.count == items.count ? numbers : nil
        }
    }

    func strings(_ key: String) throws -> [String] {
        try value(key, "an array of strings") { member in
            guard let items = member.arrayValue else { return nil }
            let strings = items.compactMap(\.stringValue)
            return strings.count == items.count ? strings : nil
        }
    }
}
