/// The written form of a dim and its reader: `12`, `batch`, `2*batch*heads + past - 1`, `floordiv(sequence + 1, 2)`.
/// Names that are no plain identifiers stand in backquotes.
extension Dim: CustomStringConvertible {
    public var description: String {
        guard !terms.isEmpty else { return "0" }
        var text = ""
        for (index, term) in terms.enumerated() {
            let negative = term.coefficient < 0
            if index == 0 { text += negative ? "-" : "" } else { text += negative ? " - " : " + " }
            let magnitude = term.coefficient.magnitude
            if term.factors.isEmpty {
                text += String(magnitude)
            } else {
                text += (magnitude == 1 ? "" : "\(magnitude)*") + Term.text(term.factors)
            }
        }
        return text
    }

    /// Reads the written form.
    ///
    /// - Throws: `TensorError` naming the text.
    public init(parsing text: String) throws {
        var reader = DimReader(text: text, bytes: Array(text.utf8))
        self = try reader.expression(depth: 0)
        try reader.finish()
    }
}

extension Dim.Term {
    static func text(_ factors: [Dim.Factor]) -> String { factors.map(\.description).joined(separator: "*") }
}

extension Dim.Factor: CustomStringConvertible {
    var description: String {
        switch self {
        case .symbol(let name):
            let plain = name.utf8.enumerated().allSatisfy { DimReader.isNameByte($1, first: $0 == 0) } && !name.isEmpty
            return plain ? name : Self.quoted(name)
        case .call(let function, let a, let b): return "\(function.rawValue)(\(a), \(b))"
        }
    }
}

extension Dim.Factor {
    /// In backquotes; backslashes and backquotes are escaped by a backslash, control characters as `\xHH`.
    private static func quoted(_ name: String) -> String {
        var text = "`"
        for scalar in name.unicodeScalars {
            switch scalar {
            case "`", "\\": text += "\\\(scalar)"
            case "\u{0}"..<"\u{20}", "\u{7F}": text += "\\x" + (scalar.value < 16 ? "0" : "") + String(scalar.value, radix: 16)
            default: text.unicodeScalars.append(scalar)
            }
        }
        return text + "`"
    }
}

extension Dim: Codable {
    public init(from decoder: any Decoder) throws {
        self = try Dim(parsing: decoder.singleValueContainer().decode(String.self))
    }

    public func encode(to encoder: any Encoder) throws {
        var container = encoder.singleValueContainer()
        try container.encode(description)
    }
}

private struct DimReader {
    let text: String
    let bytes: [UInt8]
    var position = 0

    init(text: String, bytes: [UInt8]) {
        self.text = text
        self.bytes = bytes
    }

    static func isNameByte(_ byte: UInt8, first: Bool) -> Bool {
        switch byte {
        case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"), UInt8(ascii: "_"): return true
        case UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "."), UInt8(ascii: "?"): return !first || byte == UInt8(ascii: "?")
        default: return false
        }
    }

    private func error() -> TensorError { TensorError("'\(text.prefix(80))' is not a dimension") }

    private mutating func peek() -> UInt8? {
        while position < bytes.count, bytes[position] == UInt8(ascii: " ") { position += 1 }
        return position < bytes.count ? bytes[position] : nil
    }

    private mutating func take(_ character: Unicode.Scalar) -> Bool {
        guard peek() == UInt8(ascii: character) else { return false }
        position += 1
        return true
    }

    mutating func finish() throws {
        guard peek() == nil else { throw error() }
    }

    mutating func expression(depth: Int) throws -> Dim {
        guard depth < 16 else { throw error() }
        var total: Dim = 0
        var negative = take("-")
        while true {
            total = try total + product(depth: depth, negative: negative)
            if take("+") { negative = false } else if take("-") { negative = true } else { return total }
        }
    }

    private mutating func product(depth: Int, negative: Bool) throws -> Dim {
        var result: Dim
        if let digits = digits() {
            // With its sign: the magnitude of the smallest integer has no positive twin.
            guard let value = Int((negative ? "-" : "") + digits) else { throw error() }
            result = .fixed(value)
        } else {
            result = try factor(depth: depth)
            if negative { result = try result * -1 }
        }
        while take("*") { result = try result * factor(depth: depth) }
        return result
    }

    /// A run of decimal digits, if one comes next.
    private mutating func digits() -> String? {
        guard let first = peek(), (UInt8(ascii: "0")...UInt8(ascii: "9")).contains(first) else { return nil }
        let start = position
        while position < bytes.count, (UInt8(ascii: "0")...UInt8(ascii: "9")).contains(bytes[position]) { position += 1 }
        return String(decoding: bytes[start..<position], as: UTF8.self)
    }

    private mutating func quotedName() throws -> String {
        position += 1
        var name: [UInt8] = []
        while position < bytes.count {
            let byte = bytes[position]
            position += 1
            if byte == UInt8(ascii: "`") { return String(decoding: name, as: UTF8.self) }
            guard byte == UInt8(ascii: "\\") else { name.append(byte); continue }
            guard position < bytes.count else { break }
            let escaped = bytes[position]
            position += 1
            if escaped == UInt8(ascii: "x") {
                guard position + 2 <= bytes.count,
                    let value = UInt8(String(decoding: bytes[position..<position + 2], as: UTF8.self), radix: 16), value < 0x80
                else { throw error() }
                name.append(value)
                position += 2
            } else {
                name.append(escaped)
            }
        }
        throw error()
    }

    private mutating func factor(depth: Int) throws -> Dim {
        guard let first = peek() else { throw error() }
        let start = position
        if first == UInt8(ascii: "`") { return .symbol(try quotedName()) }
        if let digits = digits() {
            guard let value = Int(digits) else { throw error() }
            return .fixed(value)
        }
        while position < bytes.count, Self.isNameByte(bytes[position], first: position == start) { position += 1 }
        guard position > start else { throw error() }
        let name = String(decoding: bytes[start..<position], as: UTF8.self)
        if let function = Dim.Function(rawValue: name), take("(") {
            let a = try expression(depth: depth + 1)
            guard take(",") else { throw error() }
            let b = try expression(depth: depth + 1)
            guard take(")") else { throw error() }
            return try Dim.apply(function, a, b)
        }
        return .symbol(name)
    }
}
