/// `tojson` as chat templates know it: Python's `json.dumps`, without escapes for HTML.
struct JSONText {
    private let arguments: Arguments
    private let isASCII: Bool
    private let indent: String?
    private let itemSeparator: String
    private let keySeparator: String
    private let sortsKeys: Bool

    /// Takes the arguments `ensure_ascii`, `indent`, `separators` and `sort_keys`.
    init(_ a: Arguments) throws {
        arguments = a
        isASCII = a.isTrue(0)
        if let text = a.value(1)?.plainText {
            indent = text
        } else {
            let width = try a.int(1)
            guard width ?? 0 <= 64 else { throw a.interpreter.limit("an indent of more than 64") }
            indent = width.map { String(repeating: " ", count: max($0, 0)) }
        }
        if let separators = a.value(2) {
            let parts = try a.interpreter.elements(of: separators).compactMap(\.plainText)
            guard parts.count == 2 else { throw a.mismatch(separators, "two separators") }
            (itemSeparator, keySeparator) = (parts[0], parts[1])
        } else {
            (itemSeparator, keySeparator) = (indent == nil ? ", " : ",", ": ")
        }
        sortsKeys = a.isTrue(3)
    }

    func text(_ value: TemplateValue) throws -> String {
        try arguments.interpreter.charge(value.extent.size)
        var out = ""
        try write(value, 0, &out)
        return out
    }

    private func write(_ value: TemplateValue, _ depth: Int, _ out: inout String) throws {
        guard out.utf8.count <= Interpreter.maximumBytes else { throw arguments.interpreter.tooLong() }
        switch value {
        case .none: out += "null"
        case .bool(let value): out += value ? "true" : "false"
        case .int(let value): out += String(value)
        case .float(let value): out += Self.text(of: value)
        case .string(let text): write(string: text, &out)
        case .items(let items) where items.kind == .list || items.kind == .tuple:
            try writeGroup("[", "]", items.values, depth, &out) { try write($0, depth + 1, &$1) }
        case .mapping(let mapping):
            try writeGroup("{", "}", sorted(mapping.members), depth, &out) { member, out in
                write(string: try key(member.key), &out)
                out += keySeparator
                try write(member.value, depth + 1, &out)
            }
        default: throw arguments.error("\(value.typeName) has no JSON")
        }
    }

    private func writeGroup<Element>(
        _ begin: String, _ end: String, _ elements: [Element], _ depth: Int, _ out: inout String, _ write: (Element, inout String) throws -> Void
    ) throws {
        out += begin
        for (index, element) in elements.enumerated() {
            if index > 0 { out += itemSeparator }
            newline(depth + 1, &out)
            try write(element, &out)
        }
        if !elements.isEmpty { newline(depth, &out) }
        out += end
    }

    private func newline(_ depth: Int, _ out: inout String) {
        guard let indent else { return }
        out += "\n"
        for _ in 0..<depth { out += indent }
    }

    private func sorted(_ members: [Mapping.Member]) throws -> [Mapping.Member] {
        guard sortsKeys else { return members }
        return try arguments.interpreter.sorted(members, by: \.key)
    }

    private func key(_ key: TemplateValue) throws -> String {
        switch key {
        case .string(let text): return text
        case .none: return "null"
        case .bool(let value): return value ? "true" : "false"
        case .int(let value): return String(value)
        case .float(let value): return Self.text(of: value)
        default: throw arguments.error("\(key.typeName) is no key of a JSON object")
        }
    }

    private static func text(of value: Double) -> String {
        value.isNaN ? "NaN" : value.isInfinite ? (value < 0 ? "-Infinity" : "Infinity") : TemplateValue.text(of: value)
    }

    private func write(string: String, _ out: inout String) {
        out += "\""
        for scalar in string.unicodeScalars {
            switch scalar {
            case "\"": out += "\\\""
            case "\\": out += "\\\\"
            case "\n": out += "\\n"
            case "\r": out += "\\r"
            case "\t": out += "\\t"
            case "\u{8}": out += "\\b"
            case "\u{C}": out += "\\f"
            default:
                if scalar.value < 0x20 || isASCII && scalar.value > 0x7E {
                    for unit in UTF16.encode(scalar) ?? .init() {
                        let digits = String(unit, radix: 16)
                        out += "\\u" + String(repeating: "0", count: 4 - digits.utf8.count) + digits
                    }
                } else {
                    out.unicodeScalars.append(scalar)
                }
            }
        }
        out += "\""
    }
}
