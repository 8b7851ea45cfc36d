import CCommandLine

#if canImport(Glibc)
import Glibc
#elseif canImport(Musl)
import Musl
#elseif canImport(Darwin)
import Darwin
#endif

/// A parsed command line: option values by long name, and the operands in order.
public struct Arguments: Sendable {
    public let operands: [String]
    private let values: [String: [String]]

    /// True when the flag or option was given.
    public func has(_ option: String) -> Bool { values[option] != nil }

    /// The argument of an option; of several the last.
    public func value(_ option: String) -> String? { values[option]?.last }

    /// All arguments of an option that may be repeated.
    public func all(_ option: String) -> [String] { values[option] ?? [] }

    /// The argument as an integer within bounds.
    ///
    /// - Throws: `UsageError` for anything else.
    public func integer(_ option: String, in range: ClosedRange<Int>) throws -> Int? {
        guard let text = value(option) else { return nil }
        guard let number = Int(text), range.contains(number) else {
            let bound = range.upperBound == .max ? "of at least \(range.lowerBound)" : "from \(range.lowerBound) to \(range.upperBound)"
            throw UsageError("--\(option) takes a whole number \(bound), not '\(text)'")
        }
        return number
    }

    /// The argument as a number within bounds.
    ///
    /// - Throws: `UsageError` for anything else.
    public func number(_ option: String, in range: ClosedRange<Double>) throws -> Double? {
        guard let text = value(option) else { return nil }
        guard let number = Double(text), range.contains(number) else {
            let bound = range.upperBound == .infinity ? "of at least \(range.lowerBound)" : "from \(range.lowerBound) to \(range.upperBound)"
            throw UsageError("--\(option) takes a number \(bound), not '\(text)'")
        }
        return number
    }

    /// The argument as whole numbers with commas between.
    ///
    /// - Throws: `UsageError` for anything else.
    public func integers(_ option: String, in range: ClosedRange<Int>) throws -> [Int]? {
        guard let text = value(option) else { return nil }
        return try text.split(separator: ",", omittingEmptySubsequences: false).map { part in
            let digits = part.filter { $0 != " " }
            guard let number = Int(digits), range.contains(number) else {
                throw UsageError("--\(option) takes whole numbers from \(range.lowerBound) on with commas between, not '\(text)'")
            }
            return number
        }
    }

    /// The argument as one of a closed set.
    ///
    /// - Throws: `UsageError` listing the set.
    public func choice<Choice: RawRepresentable & CaseIterable>(_ option: String, _ type: Choice.Type) throws -> Choice?
    where Choice.RawValue == String {
        guard let text = value(option) else { return nil }
        guard let choice = Choice(rawValue: text) else {
            throw UsageError("--\(option) takes one of \(Choice.allCases.map(\.rawValue).joined(separator: ", ")), not '\(text)'")
        }
        return choice
    }

    /// Parses the words after the command's name with getopt_long: long options may be abbreviated and take `--name value`
    /// or `--name=value`; `--` ends the options.
    ///
    /// - Throws: `UsageError` naming the word at fault.
    public init(_ words: [String], options: [CommandOption]) throws {
        // Identifiers above the range of characters, so that short options can be told from long ones.
        let firstIdentifier: Int32 = 1000
        let names = options.map { strdup($0.long) }
        var argv: [UnsafeMutablePointer<CChar>?] = (["command"] + words).map { strdup($0) } + [nil]
        let original = argv
        defer {
            for pointer in names { free(pointer) }
            for pointer in original { free(pointer) }
        }
        let table = options.indices.map { index in
            ccl_option(
                name: UnsafePointer(names[index]), takes_argument: options[index].argument == nil ? 0 : 1,
                identifier: firstIdentifier + Int32(index))
        }
        var short = ":"
        for option in options {
            guard let letter = option.short else { continue }
            short.unicodeScalars.append(letter)
            if option.argument != nil { short += ":" }
        }
        var values: [String: [String]] = [:]
        let count = Int32(argv.count - 1)
        ccl_begin()
        while true {
            let result = argv.withUnsafeMutableBufferPointer { buffer in
                ccl_next(count, buffer.baseAddress, short, table, table.count)
            }
            if result.identifier == 0 { break }
            guard result.identifier > 0 else {
                let word = result.word.map { String(cString: $0) } ?? ""
                switch result.fault {
                case 1: throw UsageError("\(word) needs an argument")
                case 2: throw UsageError("\(word.prefix { $0 != "=" }) takes no argument")
                default: throw UsageError("unknown option \(word)")
                }
            }
            let option: CommandOption?
            if result.identifier >= firstIdentifier {
                option = options[Int(result.identifier - firstIdentifier)]
            } else {
                option = options.first { $0.short.map { Int32($0.value) } == result.identifier }
            }
            guard let option else { continue }
            values[option.long, default: []].append(result.argument.map { String(cString: $0) } ?? "")
        }
        operands = argv[min(Int(ccl_first_operand()), Int(count))..<Int(count)].map { pointer in pointer.map { String(cString: $0) } ?? "" }
        self.values = values
    }
}
