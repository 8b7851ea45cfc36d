import Foundation

/// A strict JSON reader (RFC 8259) over bytes. Strings stay byte strings, so that canonically equivalent keys stay
/// apart; lone surrogates, duplicate keys, control characters and trailing text are errors with a byte offset.
struct JSONReader {
    static let maximumDepth = 64
    let bytes: UnsafeBufferPointer<UInt8>
    private(set) var position = 0

    /// Fails when the bytes are not valid UTF-8.
    init(_ bytes: UnsafeBufferPointer<UInt8>) throws {
        self.bytes = bytes
        if let offset = UTF8Bytes.firstInvalid(bytes) {
            throw TokenizerError.malformedJSON(offset: offset, reason: "not valid UTF-8")
        }
        if bytes.count >= 3, bytes[0] == 0xEF, bytes[1] == 0xBB, bytes[2] == 0xBF { position = 3 }
    }

    func error(_ reason: String) -> TokenizerError { .malformedJSON(offset: position, reason: reason) }

    /// The next byte that is not white space, without consuming it.
    mutating func peek() -> UInt8? {
        while position < bytes.count {
            let byte = bytes[position]
            if byte != 0x20 && byte != 0x0A && byte != 0x0D && byte != 0x09 { return byte }
            position += 1
        }
        return nil
    }

    private mutating func expect(_ byte: UInt8, _ what: String) throws {
        guard peek() == byte else { throw error("expected \(what)") }
        position += 1
    }

    /// Nothing but white space may follow.
    mutating func finish() throws {
        if peek() != nil { throw error("text after the end of the value") }
    }

    // MARK: - Containers

    /// Reads an object; `body` gets each key and must read its value.
    mutating func readObject(_ body: (inout JSONReader, [UInt8]) throws -> Void) throws {
        try expect(0x7B, "'{'")
        if peek() == 0x7D {
            position += 1
            return
        }
        while true {
            var key: [UInt8] = []
            try readString(into: &key)
            try expect(0x3A, "':'")
            try body(&self, key)
            switch peek() {
            case 0x2C: position += 1
            case 0x7D:
                position += 1
                return
            default: throw error("expected ',' or '}'")
            }
        }
    }

    /// Reads an array; `body` must read each element.
    mutating func readArray(_ body: (inout JSONReader) throws -> Void) throws {
        try expect(0x5B, "'['")
        if peek() == 0x5D {
            position += 1
            return
        }
        while true {
            try body(&self)
            switch peek() {
            case 0x2C: position += 1
            case 0x5D:
                position += 1
                return
            default: throw error("expected ',' or ']'")
            }
        }
    }

    // MARK: - Scalars

    /// Appends the string at the current place, without its quotes and escapes.
    mutating func readString(into output: inout [UInt8]) throws {
        try expect(0x22, "'\"'")
        while true {
            let start = position
            while position < bytes.count, bytes[position] != 0x22, bytes[position] != 0x5C, bytes[position] >= 0x20 {
                position += 1
            }
            output.append(contentsOf: bytes[start..<position])
            guard position < bytes.count else { throw error("string without end") }
            switch bytes[position] {
            case 0x22:
                position += 1
                return
            case 0x5C:
                position += 1
                try readEscape(into: &output)
            default: throw error("control character in a string")
            }
        }
    }

    private mutating func readEscape(into output: inout [UInt8]) throws {
        guard position < bytes.count else { throw error("string without end") }
        let byte = bytes[position]
        position += 1
        switch byte {
        case 0x22, 0x5C, 0x2F: output.append(byte)
        case 0x62: output.append(0x08)
        case 0x66: output.append(0x0C)
        case 0x6E: output.append(0x0A)
        case 0x72: output.append(0x0D)
        case 0x74: output.append(0x09)
        case 0x75:
            let unit = try readHexUnit()
            switch unit {
            case 0xD800..<0xDC00:
                guard position + 1 < bytes.count, bytes[position] == 0x5C, bytes[position + 1] == 0x75 else {
                    throw error("lone surrogate")
                }
                position += 2
                let second = try readHexUnit()
                guard second >= 0xDC00, second < 0xE000 else { throw error("lone surrogate") }
                UTF8Bytes.append(0x10000 + (unit - 0xD800) << 10 + (second - 0xDC00), to: &output)
            case 0xDC00..<0xE000: throw error("lone surrogate")
            default: UTF8Bytes.append(unit, to: &output)
            }
        default: throw error("unknown escape")
        }
    }

    private mutating func readHexUnit() throws -> UInt32 {
        var unit: UInt32 = 0
        for _ in 0..<4 {
            guard position < bytes.count else { throw error("string without end") }
            let byte = bytes[position]
            switch byte {
            case 0x30...0x39: unit = unit << 4 | UInt32(byte - 0x30)
            case 0x41...0x46: unit = unit << 4 | UInt32(byte - 0x37)
            case 0x61...0x66: unit = unit << 4 | UInt32(byte - 0x57)
            default: throw error("bad \\u escape")
            }
            position += 1
        }
        return unit
    }

    /// Reads a number and returns its value.
    mutating func readNumber() throws -> Double {
        guard let first = peek(), first == 0x2D || (first >= 0x30 && first <= 0x39) else { throw error("expected a number") }
        let start = position
        var mantissa: UInt64 = 0
        var exponent = 0
        var digits = 0
        func isDigit(_ index: Int) -> Bool { index < bytes.count && bytes[index] >= 0x30 && bytes[index] <= 0x39 }
        if bytes[position] == 0x2D { position += 1 }
        guard isDigit(position) else { throw error("bad number") }
        if bytes[position] == 0x30, isDigit(position + 1) { throw error("bad number") }
        func take(_ byte: UInt8) {
            digits += mantissa > 0 || byte > 0x30 ? 1 : 0
            if digits <= 19 { mantissa = mantissa &* 10 &+ UInt64(byte - 0x30) }
        }
        while isDigit(position) {
            take(bytes[position])
            position += 1
        }
        if position < bytes.count, bytes[position] == 0x2E {
            position += 1
            guard isDigit(position) else { throw error("bad number") }
            while isDigit(position) {
                take(bytes[position])
                exponent -= 1
                position += 1
            }
        }
        var hasExponent = false
        if position < bytes.count, bytes[position] | 0x20 == 0x65 {
            hasExponent = true
            position += 1
            if position < bytes.count, bytes[position] == 0x2B || bytes[position] == 0x2D { position += 1 }
            guard isDigit(position) else { throw error("bad number") }
            while isDigit(position) { position += 1 }
        }
        // Both parts are exact doubles, so one division rounds correctly.
        if !hasExponent, digits <= 19, mantissa < 1 << 53, exponent >= -22 {
            let value = Double(mantissa) / Self.powersOfTen[-exponent]
            return bytes[start] == 0x2D ? -value : value
        }
        guard position - start <= 400 else { throw error("number is too long") }
        let text = String(decoding: bytes[start..<position], as: UTF8.self)
        guard let value = Double(text), value.isFinite else { throw error("number out of range") }
        return value
    }

    private static let powersOfTen: [Double] = [
        1e0, 1e1, 1e2, 1e3, 1e4, 1e5, 1e6, 1e7, 1e8, 1e9, 1e10, 1e11, 1e12, 1e13, 1e14, 1e15, 1e16, 1e17, 1e18, 1e19,
        1e20, 1e21, 1e22,
    ]

    /// Reads a whole number from 0 to 2^32 - 1.
    mutating func readID() throws -> UInt32 {
        let value = try readNumber()
        guard let id = UInt32(exactly: value) else { throw error("expected a whole number from 0 to 4294967295") }
        return id
    }

    // MARK: - Values

    /// Reads any value.
    mutating func readValue(depth: Int = 0) throws -> JSONValue {
        guard depth < Self.maximumDepth else { throw error("nested deeper than \(Self.maximumDepth)") }
        guard let first = peek() else { throw error("expected a value") }
        let start = position
        let content: JSONValue.Content
        switch first {
        case 0x7B:
            var members: [JSONValue.Member] = []
            var seen: Set<[UInt8]> = []
            try readObject { reader, key in
                if !seen.insert(key).inserted {
                    throw reader.error("the key \"\(String(decoding: key, as: UTF8.self))\" occurs twice")
                }
                members.append(JSONValue.Member(key: key, value: try reader.readValue(depth: depth + 1)))
            }
            content = .object(members)
        case 0x5B:
            var elements: [JSONValue] = []
            try readArray { elements.append(try $0.readValue(depth: depth + 1)) }
            content = .array(elements)
        case 0x22:
            var string: [UInt8] = []
            try readString(into: &string)
            content = .string(string)
        case 0x74: content = try readWord("true", .bool(true))
        case 0x66: content = try readWord("false", .bool(false))
        case 0x6E: content = try readWord("null", .null)
        default: content = .number(try readNumber())
        }
        return JSONValue(content: content, range: start..<position)
    }

    private mutating func readWord(_ word: StaticString, _ content: JSONValue.Content) throws -> JSONValue.Content {
        let count = word.utf8CodeUnitCount
        guard bytes.count - position >= count,
            (0..<count).allSatisfy({ bytes[position + $0] == word.utf8Start[$0] })
        else { throw error("expected a value") }
        position += count
        return content
    }
}

/// A JSON value and the bytes it was read from.
struct JSONValue: Sendable {
    struct Member: Sendable {
        let key: [UInt8]
        let value: JSONValue
    }

    enum Content: Sendable {
        case null
        case bool(Bool)
        case number(Double)
        case string([UInt8])
        case array([JSONValue])
        case object([Member])
    }

    let content: Content
    let range: Range<Int>

    static func parse(_ bytes: [UInt8]) throws -> JSONValue {
        try bytes.withUnsafeBufferPointer { buffer in
            var reader = try JSONReader(buffer)
            let value = try reader.readValue()
            try reader.finish()
            return value
        }
    }

    /// A member of an object, nil when it is missing, null, or this is no object.
    subscript(_ key: String) -> JSONValue? {
        guard case .object(let members) = content else { return nil }
        let name = Array(key.utf8)
        guard let value = members.first(where: { $0.key == name })?.value else { return nil }
        if case .null = value.content { return nil }
        return value
    }

    var bytes: [UInt8]? { if case .string(let bytes) = content { bytes } else { nil } }
    var string: String? { bytes.map { String(decoding: $0, as: UTF8.self) } }
    var bool: Bool? { if case .bool(let value) = content { value } else { nil } }
    var number: Double? { if case .number(let value) = content { value } else { nil } }
    var int: Int? { number.flatMap { Int(exactly: $0) } }
    var array: [JSONValue]? { if case .array(let elements) = content { elements } else { nil } }
    var isObject: Bool { if case .object = content { true } else { false } }

    /// `text` as a JSON string.
    static func quoted(_ text: [UInt8]) -> [UInt8] {
        var result: [UInt8] = [0x22]
        for byte in text {
            switch byte {
            case 0x22, 0x5C: result += [0x5C, byte]
            case 0..<0x20: result += Array("\\u00".utf8) + [byte < 0x10 ? 0x30 : 0x31, Array("0123456789abcdef".utf8)[Int(byte & 15)]]
            default: result.append(byte)
            }
        }
        result.append(0x22)
        return result
    }
}
