import Foundation

/// `"{} {name}".format(...)`, without what stands behind a `:` or `!`.
enum BraceFormat {
    static func format(_ text: String, _ a: Arguments) throws -> TemplateValue {
        let scalars = try a.interpreter.scalars(text)
        var result = ""
        var automatic = 0
        var place = 0
        while place < scalars.count {
            let scalar = scalars[place]
            place += 1
            guard scalar == "{" || scalar == "}" else {
                result.unicodeScalars.append(scalar)
                continue
            }
            if place < scalars.count, scalars[place] == scalar {
                result.unicodeScalars.append(scalar)
                place += 1
                continue
            }
            guard scalar == "{", let end = scalars[place...].firstIndex(of: "}") else { throw a.error("a single '\(scalar)' in a format") }
            let name = String(String.UnicodeScalarView(scalars[place..<end]))
            place = end + 1
            result += try a.interpreter.text(field(name, &automatic, a))
            guard result.utf8.count <= Interpreter.maximumBytes else { throw a.interpreter.tooLong() }
        }
        return try a.interpreter.string(result)
    }

    /// Fields are counted or numbered, never both.
    private static func field(_ name: String, _ automatic: inout Int, _ a: Arguments) throws -> TemplateValue {
        if name.isEmpty || name.utf8.allSatisfy({ $0 >= 0x30 && $0 <= 0x39 }) {
            guard automatic == 0 || name.isEmpty == (automatic > 0) else { throw a.error("a format that both counts and numbers its fields") }
            let index = name.isEmpty ? automatic : Int(name) ?? .max
            automatic = name.isEmpty ? automatic + 1 : -1
            guard index < a.rest.count else { throw a.error("a format with more fields than values") }
            return a.rest[index]
        }
        guard name.unicodeScalars.allSatisfy(\.properties.isXIDContinue) else { throw a.error("the format field '{\(name)}' is not supported") }
        guard let value = a.named.first(where: { same($0.name, name) })?.value else { throw a.error("the format has no value '\(name)'") }
        return value
    }
}

extension Interpreter {
    /// `"%s: %d" % (a, b)`: Python's oldest formats, for `s r d i u f F e E g G x X o c` and `%`.
    func printf(_ format: String, _ values: [TemplateValue]) throws -> TemplateValue {
        let scalars = try scalars(format)
        var result = ""
        var place = 0
        var index = 0
        while place < scalars.count {
            let scalar = scalars[place]
            place += 1
            guard scalar == "%" else {
                result.unicodeScalars.append(scalar)
                continue
            }
            var flags = ""
            while place < scalars.count, "-+ 0#".unicodeScalars.contains(scalars[place]) {
                flags.unicodeScalars.append(scalars[place])
                place += 1
            }
            let width = try printfNumber(scalars, &place)
            var precision: Int?
            if place < scalars.count, scalars[place] == "." {
                place += 1
                precision = try printfNumber(scalars, &place) ?? 0
            }
            guard place < scalars.count else { throw error("a format that ends in '%'") }
            let kind = scalars[place]
            place += 1
            if kind == "%" {
                result += "%"
                continue
            }
            guard index < values.count else { throw error("a format with more fields than values") }
            result += try printfField(kind, flags, width ?? 0, precision, values[index])
            index += 1
            guard result.utf8.count <= Self.maximumBytes else { throw tooLong() }
        }
        guard index == values.count else { throw error("a format with fewer fields than values") }
        return try string(result)
    }

    private func printfNumber(_ scalars: [Unicode.Scalar], _ place: inout Int) throws -> Int? {
        var value: Int?
        while place < scalars.count, scalars[place] >= "0", scalars[place] <= "9" {
            value = (value ?? 0) * 10 + Int(scalars[place].value - 48)
            guard let value, value < 1000 else { throw limit("a format wider than 999 characters") }
            place += 1
        }
        return value
    }

    private func printfField(_ kind: Unicode.Scalar, _ flags: String, _ width: Int, _ precision: Int?, _ value: TemplateValue) throws -> String {
        var body: String
        var sign = ""
        switch kind {
        case "s", "r":
            body = kind == "s" ? try text(value) : value.representation ?? ""
            if let precision { body = String(body.unicodeScalars.prefix(precision)) }
        case "d", "i", "u", "x", "X", "o":
            guard let number = value.integer ?? printfInteger(value, kind) else { throw error("'%\(kind)' needs a number, not \(value.typeName)") }
            guard !flags.contains("#"), precision == nil else { throw error("'%#\(kind)' and '%.0\(kind)' are not supported") }
            sign = number < 0 ? "-" : ""
            body = String(number.magnitude, radix: kind == "x" || kind == "X" ? 16 : kind == "o" ? 8 : 10, uppercase: kind == "X")
        case "f", "F", "e", "E", "g", "G":
            guard let number = value.number else { throw error("'%\(kind)' needs a number, not \(value.typeName)") }
            guard number.isFinite, !flags.contains("#") else { throw error("'%\(kind)' needs a finite number and no '#'") }
            sign = number.sign == .minus ? "-" : ""
            body = String(format: "%.\(precision ?? 6)\(kind)", number.magnitude)
        default: throw error("the format '%\(kind)' is not supported")
        }
        if kind != "s", kind != "r", sign.isEmpty { sign = flags.contains("+") ? "+" : flags.contains(" ") ? " " : "" }
        let count = max(0, width - body.unicodeScalars.count - sign.utf8.count)
        if flags.contains("-") { return sign + body + String(repeating: " ", count: count) }
        if flags.contains("0"), kind != "s", kind != "r" { return sign + String(repeating: "0", count: count) + body }
        return String(repeating: " ", count: count) + sign + body
    }

    /// `%d` cuts a float; the other bases refuse it.
    private func printfInteger(_ value: TemplateValue, _ kind: Unicode.Scalar) -> Int? {
        guard case .float(let number) = value, kind == "d" || kind == "i" || kind == "u" else { return nil }
        return Int(exactly: number.rounded(.towardZero))
    }
}
