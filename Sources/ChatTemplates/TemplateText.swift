/// Python's `str()` and `repr()`.
extension TemplateValue {
    /// The text of a number, string, list or mapping; nil for what only has an address (functions, generators, namespaces).
    var text: String? {
        switch self {
        case .string(let value), .markup(let value): return value
        case .undefined: return ""
        default: return representation
        }
    }

    var representation: String? {
        var result = ""
        return write(to: &result) ? result : nil
    }

    /// Bounded by the extent of the value. False where a part has no text.
    private func write(to out: inout String) -> Bool {
        switch self {
        case .undefined: out += "Undefined"
        case .none: out += "None"
        case .bool(let value): out += value ? "True" : "False"
        case .int(let value): out += String(value)
        case .float(let value): out += Self.text(of: value)
        case .string(let value): Self.writeQuoted(value, to: &out)
        case .items(let items): return Self.write(items, to: &out)
        case .mapping(let mapping):
            out += "{"
            for (index, member) in mapping.members.enumerated() {
                if index > 0 { out += ", " }
                guard member.key.write(to: &out) else { return false }
                out += ": "
                guard member.value.write(to: &out) else { return false }
            }
            out += "}"
        case .loop(let loop): out += "<LoopContext \(loop.index + 1)/\(loop.items.count)>"
        case .markup, .generator, .namespace, .macro, .function, .method: return false
        }
        return true
    }

    private static func write(_ items: Items, to out: inout String) -> Bool {
        switch items.kind {
        case .list: out += "["
        case .tuple: out += "("
        case .range: return writeRange(items.values, to: &out)
        case .keys, .values, .members: out += items.kind.rawValue + "(["
        }
        for (index, value) in items.values.enumerated() {
            if index > 0 { out += ", " }
            guard value.write(to: &out) else { return false }
        }
        switch items.kind {
        case .list: out += "]"
        case .tuple: out += items.values.count == 1 ? ",)" : ")"
        default: out += "])"
        }
        return true
    }

    /// Python prints a range's bounds, which the elements do not tell where there are none.
    private static func writeRange(_ values: [TemplateValue], to out: inout String) -> Bool {
        guard let first = values.first?.integer, let last = values.last?.integer else { return false }
        let step = values.count > 1 ? (values[1].integer ?? 0) - first : 1
        guard step == 1 else { return false }
        out += "range(\(first), \(last + 1))"
        return true
    }

    /// Python's shortest form of a float: `1.0`, `1e-07`, `1e+16`.
    static func text(of value: Double) -> String {
        if value.isNaN { return "nan" }
        if value.isInfinite { return value < 0 ? "-inf" : "inf" }
        if value == 0 { return value.sign == .minus ? "-0.0" : "0.0" }
        // Swift finds the same shortest digits, but places the point by other rules.
        let parts = value.magnitude.description.split(separator: "e")
        let mantissa = parts[0].split(separator: ".", omittingEmptySubsequences: false)
        let whole = String(mantissa[0])
        let fraction = mantissa.count > 1 && mantissa[1] != "0" ? String(mantissa[1]) : ""
        var digits = Array((whole + fraction).utf8)
        // The value is 0.digits times ten to the power of `point`.
        var point = whole.utf8.count + (parts.count > 1 ? Int(parts[1]) ?? 0 : 0)
        while digits.first == 0x30 {
            digits.removeFirst()
            point -= 1
        }
        while digits.last == 0x30 { digits.removeLast() }
        func string(_ part: some Sequence<UInt8>) -> String { String(decoding: Array(part), as: UTF8.self) }
        let sign = value < 0 ? "-" : ""
        if point > 16 || point < -3 {
            let exponent = point - 1
            let size = String(exponent.magnitude)
            let rest = digits.count > 1 ? "." + string(digits.dropFirst()) : ""
            return sign + string(digits.prefix(1)) + rest + (exponent < 0 ? "e-" : "e+") + (size.utf8.count < 2 ? "0" : "") + size
        }
        if point <= 0 { return sign + "0." + String(repeating: "0", count: -point) + string(digits) }
        if digits.count <= point { return sign + string(digits) + String(repeating: "0", count: point - digits.count) + ".0" }
        return sign + string(digits.prefix(point)) + "." + string(digits.dropFirst(point))
    }

    private static func writeQuoted(_ text: String, to out: inout String) {
        let quote: Unicode.Scalar = text.unicodeScalars.contains("'") && !text.unicodeScalars.contains("\"") ? "\"" : "'"
        out.unicodeScalars.append(quote)
        for scalar in text.unicodeScalars {
            switch scalar {
            case quote, "\\":
                out += "\\"
                out.unicodeScalars.append(scalar)
            case "\n": out += "\\n"
            case "\r": out += "\\r"
            case "\t": out += "\\t"
            default:
                if scalar.isPrintable {
                    out.unicodeScalars.append(scalar)
                } else {
                    let size = scalar.value < 0x100 ? 2 : scalar.value < 0x10000 ? 4 : 8
                    out += size == 2 ? "\\x" : size == 4 ? "\\u" : "\\U"
                    let digits = String(scalar.value, radix: 16)
                    out += String(repeating: "0", count: size - digits.utf8.count) + digits
                }
            }
        }
        out.unicodeScalars.append(quote)
    }
}

extension Unicode.Scalar {
    /// Python's `str.isprintable`.
    var isPrintable: Bool {
        switch properties.generalCategory {
        case .control, .format, .surrogate, .privateUse, .unassigned, .lineSeparator, .paragraphSeparator: return false
        case .spaceSeparator: return self == " "
        default: return true
        }
    }

    /// Python's white space of strings.
    var isSpace: Bool { properties.isWhitespace || ("\u{1C}"..."\u{1F}").contains(self) }
}
