import JSON
import Tensors

/// Where graph text is not well-formed.
public struct GraphTextError: Error, Sendable, Hashable, CustomStringConvertible {
    /// Both count from 1; the column counts bytes.
    public let line: Int
    public let column: Int
    public let reason: String

    public var description: String { "graph text, line \(line), column \(column): \(reason)" }
}

/// The tokens of graph text.
struct TextScanner {
    private let bytes: [UInt8]
    private(set) var position = 0

    init(_ text: String) { bytes = Array(text.utf8) }

    func error(_ reason: String, at offset: Int? = nil) -> GraphTextError {
        let end = min(offset ?? position, bytes.count)
        let line = bytes[..<end].reduce(1) { $1 == UInt8(ascii: "\n") ? $0 + 1 : $0 }
        let start = bytes[..<end].lastIndex(of: UInt8(ascii: "\n")).map { $0 + 1 } ?? 0
        return GraphTextError(line: line, column: end - start + 1, reason: reason)
    }

    /// The next byte after spaces and line ends; nil at the end.
    mutating func peek() -> UInt8? {
        while position < bytes.count {
            let byte = bytes[position]
            guard byte == 0x20 || byte == 0x0A || byte == 0x0D || byte == 0x09 else { return byte }
            position += 1
        }
        return nil
    }

    mutating func take(_ character: Unicode.Scalar) -> Bool {
        guard peek() == UInt8(ascii: character) else { return false }
        position += 1
        return true
    }

    mutating func expect(_ character: Unicode.Scalar) throws {
        guard take(character) else { throw error("expected '\(character)'") }
    }

    // MARK: Words and names

    static func isWord(_ text: String) -> Bool {
        let utf8 = text.utf8
        guard let first = utf8.first, !(UInt8(ascii: "0")...UInt8(ascii: "9")).contains(first) else { return false }
        return utf8.allSatisfy(isWordByte)
    }

    private static func isWordByte(_ byte: UInt8) -> Bool {
        switch byte {
        case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"), UInt8(ascii: "0")...UInt8(ascii: "9"),
            UInt8(ascii: "_"):
            return true
        default: return false
        }
    }

    /// Value names may also hold what is common in exported names.
    private static func isNameByte(_ byte: UInt8) -> Bool {
        isWordByte(byte) || byte == UInt8(ascii: ".") || byte == UInt8(ascii: "/") || byte == UInt8(ascii: "-")
    }

    /// `%name`, quoted where it is no plain name.
    static func reference(_ name: String) -> String {
        !name.isEmpty && name.utf8.allSatisfy(isNameByte) ? "%" + name : "%" + JSONValue.string(name).text
    }

    /// A keyword or an operator or attribute name.
    mutating func word() throws -> String {
        guard peek() != nil else { throw error("the text ends too early") }
        let word = run(Self.isWordByte)
        guard Self.isWord(word) else { throw error("expected a word", at: position - word.utf8.count) }
        return word
    }

    /// Reads what `reference` writes.
    mutating func reference() throws -> String {
        try expect("%")
        if position < bytes.count, bytes[position] == UInt8(ascii: "\"") { return try string() }
        let name = run(Self.isNameByte)
        guard !name.isEmpty else { throw error("expected a name after '%'") }
        return name
    }

    private mutating func run(_ accepts: (UInt8) -> Bool) -> String {
        let start = position
        while position < bytes.count, accepts(bytes[position]) { position += 1 }
        return String(decoding: bytes[start..<position], as: UTF8.self)
    }

    /// A string in double quotes with JSON's escapes.
    mutating func string() throws -> String {
        guard peek() == UInt8(ascii: "\"") else { throw error("expected a string in double quotes") }
        let start = position
        position += 1
        while position < bytes.count, bytes[position] != UInt8(ascii: "\"") {
            position += bytes[position] == UInt8(ascii: "\\") ? 2 : 1
        }
        guard position < bytes.count else { throw error("a string without an end", at: start) }
        position += 1
        do {
            let value = try bytes.withUnsafeBytes { try JSONParser.parse(UnsafeRawBufferPointer(rebasing: $0[start..<position])) }
            guard let text = value.stringValue else { throw error("expected a string", at: start) }
            return text
        } catch let fault as JSONError {
            throw error(fault.reason, at: start + fault.offset)
        }
    }

    // MARK: Attributes and types

    /// A word, number or dim: everything up to a `,`, `]`, `}` or line end outside parentheses and backquotes.
    mutating func bare() throws -> String {
        guard peek() != nil else { throw error("the text ends too early") }
        let start = position
        var depth = 0
        scan: while position < bytes.count {
            switch bytes[position] {
            case UInt8(ascii: "("): depth += 1
            case UInt8(ascii: ")"): depth -= 1
            case UInt8(ascii: ","), UInt8(ascii: "]"), UInt8(ascii: "}"): if depth <= 0 { break scan }
            case UInt8(ascii: "\n"): break scan
            case UInt8(ascii: "`"):
                position += 1
                while position < bytes.count, bytes[position] != UInt8(ascii: "`"), bytes[position] != UInt8(ascii: "\n") {
                    position += bytes[position] == UInt8(ascii: "\\") ? 2 : 1
                }
                guard position < bytes.count else { throw error("a name in backquotes without an end", at: start) }
            default: break
            }
            position += 1
        }
        position = min(position, bytes.count)
        var end = position
        while end > start, bytes[end - 1] == 0x20 || bytes[end - 1] == 0x0D || bytes[end - 1] == 0x09 { end -= 1 }
        guard end > start else { throw error("expected a value", at: start) }
        return String(decoding: bytes[start..<end], as: UTF8.self)
    }

    mutating func attribute(depth: Int = 0) throws -> Attribute {
        guard depth <= Attribute.maximumDepth else { throw error("nested deeper than \(Attribute.maximumDepth) levels") }
        switch peek() {
        case UInt8(ascii: "\""): return .quoted(try string())
        case UInt8(ascii: "["):
            position += 1
            var items: [Attribute] = []
            if take("]") { return .list([]) }
            repeat { items.append(try attribute(depth: depth + 1)) } while take(",")
            try expect("]")
            return .list(items)
        case UInt8(ascii: "{"): return .record(try attributes(depth: depth + 1))
        default: return .bare(try bare())
        }
    }

    /// `{name = value, ...}`
    mutating func attributes(depth: Int = 0) throws -> [NamedAttribute] {
        try expect("{")
        var members: [NamedAttribute] = []
        if take("}") { return members }
        repeat {
            let name = try word()
            guard !members.contains(where: { $0.name == name }) else { throw error("the attribute '\(name)' stands twice") }
            guard members.count < 64 else { throw error("too many attributes") }
            try expect("=")
            members.append(NamedAttribute(name: name, value: try attribute(depth: depth)))
        } while take(",")
        try expect("}")
        return members
    }

    /// `f32[batch, 2*sequence]`
    mutating func type() throws -> TensorType {
        let name = try word()
        guard let dtype = DType(rawValue: name) else { throw error("unknown element type '\(name)'", at: position - name.utf8.count) }
        try expect("[")
        var dims: [Dim] = []
        if take("]") { return TensorType(dtype, dims) }
        repeat {
            guard dims.count < 64 else { throw error("a type of more than 64 dimensions") }
            let start = position
            do {
                dims.append(try Dim(parsing: bare()))
            } catch let fault as TensorError {
                throw error(fault.description, at: start)
            }
        } while take(",")
        try expect("]")
        return TensorType(dtype, dims)
    }
}
