/// Where and why a JSON text is not well-formed.
public struct JSONError: Error, Sendable, Hashable, CustomStringConvertible {
    public let offset: Int
    public let reason: String

    public var description: String { "invalid JSON at byte \(offset): \(reason)" }
}

/// A strict RFC 8259 reader over bytes: duplicate keys, trailing text, lone surrogates, invalid UTF-8 and nesting deeper than
/// `maximumDepth` are errors.
public struct JSONParser {
    public static let maximumDepth = 256

    private let bytes: UnsafeRawBufferPointer
    private var position = 0

    private init(_ bytes: UnsafeRawBufferPointer) { self.bytes = bytes }

    /// Reads one document that fills `bytes`.
    ///
    /// - Throws: `JSONError` with the byte offset of the fault.
    public static func parse(_ bytes: UnsafeRawBufferPointer) throws -> JSONValue {
        var parser = JSONParser(bytes)
        // A byte order mark is not JSON, but editors write it.
        if bytes.starts(with: [0xEF, 0xBB, 0xBF]) { parser.position = 3 }
        parser.skipSpace()
        let value = try parser.value(depth: 0)
        parser.skipSpace()
        guard parser.position == bytes.count else { throw parser.error("text after the end of the document") }
        return value
    }

    public static func parse(_ bytes: some Sequence<UInt8>) throws -> JSONValue {
        try Array(bytes).withUnsafeBytes { try parse($0) }
    }

    public static func parse(_ text: String) throws -> JSONValue { try parse(text.utf8) }

    private func error(_ reason: String, at offset: Int? = nil) -> JSONError {
        JSONError(offset: offset ?? position, reason: reason)
    }

    private var current: UInt8? { position < bytes.count ? bytes[position] : nil }

    private mutating func skipSpace() {
        while let byte = current, byte == 0x20 || byte == 0x0A || byte == 0x0D || byte == 0x09 { position += 1 }
    }

    private mutating func value(depth: Int) throws -> JSONValue {
        guard depth < Self.maximumDepth else { throw error("nested deeper than \(Self.maximumDepth) levels") }
        guard let first = current else { throw error("the text ends where a value should stand") }
        switch first {
        case UInt8(ascii: "{"): return try object(depth: depth)
        case UInt8(ascii: "["): return try array(depth: depth)
        case UInt8(ascii: "\""): return .string(try string())
        case UInt8(ascii: "t"): return try literal("true", .bool(true))
        case UInt8(ascii: "f"): return try literal("false", .bool(false))
        case UInt8(ascii: "n"): return try literal("null", .null)
        case UInt8(ascii: "-"), UInt8(ascii: "0")...UInt8(ascii: "9"): return try number()
        default: throw error("no value starts with this character")
        }
    }

    private mutating func literal(_ word: StaticString, _ value: JSONValue) throws -> JSONValue {
        let end = position + word.utf8CodeUnitCount
        guard end <= bytes.count,
            bytes[position..<end].elementsEqual(UnsafeBufferPointer(start: word.utf8Start, count: word.utf8CodeUnitCount))
        else { throw error("unknown word, expected \(word)") }
        position = end
        return value
    }

    private mutating func object(depth: Int) throws -> JSONValue {
        position += 1
        var members: [JSONMember] = []
        var seen: Set<[UInt8]> = []
        skipSpace()
        if current == UInt8(ascii: "}") { position += 1; return .object([]) }
        while true {
            skipSpace()
            let start = position
            guard current == UInt8(ascii: "\"") else { throw error("expected a key in double quotes") }
            let key = try string()
            guard seen.insert(Array(key.utf8)).inserted else { throw error("the key \"\(key)\" stands twice", at: start) }
            skipSpace()
            guard current == UInt8(ascii: ":") else { throw error("expected ':' after a key") }
            position += 1
            skipSpace()
            members.append(JSONMember(key: key, value: try value(depth: depth + 1)))
            skipSpace()
            switch current {
            case UInt8(ascii: ","): position += 1
            case UInt8(ascii: "}"): position += 1; return .object(members)
            default: throw error("expected ',' or '}' in an object")
            }
        }
    }

    private mutating func array(depth: Int) throws -> JSONValue {
        position += 1
        var values: [JSONValue] = []
        skipSpace()
        if current == UInt8(ascii: "]") { position += 1; return .array([]) }
        while true {
            skipSpace()
            values.append(try value(depth: depth + 1))
            skipSpace()
            switch current {
            case UInt8(ascii: ","): position += 1
            case UInt8(ascii: "]"): position += 1; return .array(values)
            default: throw error("expected ',' or ']' in an array")
            }
        }
    }

    private mutating func string() throws -> String {
        let start = position
        position += 1
        var text: [UInt8] = []
        while let byte = current {
            switch byte {
            case UInt8(ascii: "\""):
                position += 1
                guard let string = String(validating: text, as: UTF8.self) else { throw error("a string is not valid UTF-8", at: start) }
                return string
            case UInt8(ascii: "\\"):
                position += 1
                try escape(into: &text)
            case 0..<0x20: throw error("an unescaped control character in a string")
            default:
                text.append(byte)
                position += 1
            }
        }
        throw error("a string without an end", at: start)
    }

    private mutating func escape(into text: inout [UInt8]) throws {
        guard let byte = current else { throw error("the text ends inside an escape") }
        position += 1
        switch byte {
        case UInt8(ascii: "\""), UInt8(ascii: "\\"), UInt8(ascii: "/"): text.append(byte)
        case UInt8(ascii: "b"): text.append(0x08)
        case UInt8(ascii: "f"): text.append(0x0C)
        case UInt8(ascii: "n"): text.append(0x0A)
        case UInt8(ascii: "r"): text.append(0x0D)
        case UInt8(ascii: "t"): text.append(0x09)
        case UInt8(ascii: "u"):
            let start = position - 2
            let high = try hexadecimal()
            var scalar = high
            if (0xD800..<0xDC00).contains(high) {
                guard position + 1 < bytes.count, bytes[position] == UInt8(ascii: "\\"), bytes[position + 1] == UInt8(ascii: "u")
                else { throw error("half of a surrogate pair", at: start) }
                position += 2
                let low = try hexadecimal()
                guard (0xDC00..<0xE000).contains(low) else { throw error("half of a surrogate pair", at: start) }
                scalar = 0x10000 + (high - 0xD800) << 10 + (low - 0xDC00)
            }
            guard let value = Unicode.Scalar(scalar) else { throw error("half of a surrogate pair", at: start) }
            text.append(contentsOf: UTF8.encode(value)?.map { $0 } ?? [])
        default: throw error("unknown escape", at: position - 2)
        }
    }

    private mutating func hexadecimal() throws -> UInt32 {
        var value: UInt32 = 0
        for _ in 0..<4 {
            guard let byte = current, let digit = Self.hexadecimalDigit(byte) else {
                throw error("expected four hexadecimal digits")
            }
            value = value << 4 | digit
            position += 1
        }
        return value
    }

    private static func hexadecimalDigit(_ byte: UInt8) -> UInt32? {
        switch byte {
        case UInt8(ascii: "0")...UInt8(ascii: "9"): return UInt32(byte) - 48
        case UInt8(ascii: "a")...UInt8(ascii: "f"): return UInt32(byte) - 87
        case UInt8(ascii: "A")...UInt8(ascii: "F"): return UInt32(byte) - 55
        default: return nil
        }
    }

    private mutating func number() throws -> JSONValue {
        let start = position
        var isInteger = true
        if current == UInt8(ascii: "-") { position += 1 }
        guard let first = current, isDigit(first) else { throw error("a number without digits", at: start) }
        if first == UInt8(ascii: "0") { position += 1 } else { skipDigits() }
        if let byte = current, isDigit(byte) { throw error("a number with a leading zero", at: start) }
        if current == UInt8(ascii: ".") {
            isInteger = false
            position += 1
            guard let byte = current, isDigit(byte) else { throw error("a number without digits after the point", at: start) }
            skipDigits()
        }
        if current == UInt8(ascii: "e") || current == UInt8(ascii: "E") {
            isInteger = false
            position += 1
            if current == UInt8(ascii: "+") || current == UInt8(ascii: "-") { position += 1 }
            guard let byte = current, isDigit(byte) else { throw error("a number without digits in its exponent", at: start) }
            skipDigits()
        }
        let text = String(decoding: bytes[start..<position], as: UTF8.self)
        if isInteger, let value = Int(text) { return .integer(value) }
        guard let value = Double(text) else { throw error("not a number", at: start) }
        return .number(value)
    }

    private func isDigit(_ byte: UInt8) -> Bool { byte >= UInt8(ascii: "0") && byte <= UInt8(ascii: "9") }

    private mutating func skipDigits() {
        while let byte = current, isDigit(byte) { position += 1 }
    }
}
