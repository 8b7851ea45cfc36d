import Foundation

/// Filters of numbers.
enum NumberFilters {
    static let all: [String: Builtin] = [
        "int": Builtin("default? base?") { value, a in
            if let integer = value.integer { return .int(integer) }
            if case .float(let number) = value {
                if number.isNaN { return a[0] ?? .int(0) }
                return .int(try whole(number, a))
            }
            if value.isUndefined { throw a.mismatch(value, "a number") }
            guard let text = value.plainText else { return a[0] ?? .int(0) }
            let base = try a.int(1) ?? 10
            guard base == 0 || (2...36).contains(base) else { return a[0] ?? .int(0) }
            if let integer = try integer(text, base: base, a) { return .int(integer) }
            guard let number = float(text), number.isFinite else { return a[0] ?? .int(0) }
            return .int(try whole(number, a))
        },
        "float": Builtin("default?") { value, a in
            if let number = value.number { return .float(number) }
            if value.isUndefined { throw a.mismatch(value, "a number") }
            return value.plainText.flatMap(float).map { .float($0) } ?? a[0] ?? .float(0)
        },
        "abs": Builtin { value, a in
            if case .float(let number) = value { return .float(number.magnitude) }
            guard let integer = value.integer else { throw a.mismatch(value, "a number") }
            guard let magnitude = Int(exactly: integer.magnitude) else { throw a.error("a number out of range") }
            return .int(magnitude)
        },
        "round": Builtin("precision? method?", round),
    ]

    private static func whole(_ number: Double, _ a: Arguments) throws -> Int {
        guard let integer = Int(exactly: number.rounded(.towardZero)) else { throw a.error("a number out of range") }
        return integer
    }

    /// The ASCII text without space at its ends, and without the `_` that Python allows between digits.
    private static func digits(_ text: String) -> String? {
        var scalars = Array(text.unicodeScalars.drop(while: \.isSpace))
        while let last = scalars.last, last.isSpace { scalars.removeLast() }
        guard scalars.allSatisfy(\.isASCII) else { return nil }
        for (index, scalar) in scalars.enumerated() where scalar == "_" {
            func isDigit(_ place: Int) -> Bool { scalars.indices.contains(place) && Character(scalars[place]).isHexDigit }
            guard isDigit(index - 1), isDigit(index + 1) else { return nil }
        }
        return String(String.UnicodeScalarView(scalars.filter { $0 != "_" }))
    }

    /// Python's `int(text, base)`; nil where the text is no number.
    private static func integer(_ text: String, base: Int, _ a: Arguments) throws -> Int? {
        guard var digits = digits(text) else { return nil }
        let isNegative = digits.hasPrefix("-")
        if isNegative || digits.hasPrefix("+") { digits.removeFirst() }
        var radix = base
        for (prefix, value) in [("0x", 16), ("0o", 8), ("0b", 2)] where digits.lowercased().hasPrefix(prefix) && (base == value || base == 0) {
            digits.removeFirst(2)
            radix = value
        }
        if radix == 0 {
            guard !digits.hasPrefix("0") || digits.utf8.allSatisfy({ $0 == 0x30 }) else { return nil }
            radix = 10
        }
        guard !digits.isEmpty, digits.utf8.allSatisfy({ Int(String(UnicodeScalar($0)), radix: radix) != nil }) else { return nil }
        guard let value = Int((isNegative ? "-" : "") + digits, radix: radix) else { throw a.error("a number out of range") }
        return value
    }

    /// Python's `float(text)`.
    private static func float(_ text: String) -> Double? {
        guard let digits = digits(text)?.lowercased() else { return nil }
        let isNegative = digits.hasPrefix("-")
        switch digits.drop(while: { $0 == "-" || $0 == "+" }) {
        case "inf", "infinity": return isNegative ? -.infinity : .infinity
        case "nan": return .nan
        default:
            guard digits.utf8.allSatisfy({ $0 >= 0x30 && $0 <= 0x39 || "+-.e".utf8.contains($0) }) else { return nil }
            // Swift wants a digit on both sides of the point.
            return strtodWhole(digits)
        }
    }

    private static func strtodWhole(_ text: String) -> Double? {
        guard text.utf8.contains(where: { $0 >= 0x30 && $0 <= 0x39 }) else { return nil }
        return text.withCString { start in
            var end: UnsafeMutablePointer<CChar>?
            let value = strtod(start, &end)
            return end.map { $0 == start + text.utf8.count } == true ? value : nil
        }
    }

    /// Half of the last digit goes to the even neighbour, as Python rounds.
    private static let round: Builtin.Body = { value, a in
        let precision = try a.int(0) ?? 0
        guard (-300...300).contains(precision) else { throw a.interpreter.limit("'round' to more than 300 digits") }
        guard let number = value.number else { throw a.mismatch(value, "a number") }
        let method = try a.string(1) ?? "common"
        switch method {
        case "common":
            if let integer = value.integer { return .int(precision >= 0 ? integer : try roundedInteger(integer, -precision, a)) }
            guard number.isFinite else { return value }
            if precision >= 0 { return .float(Double(String(format: "%.\(precision)f", number)) ?? number) }
            let scale = pow(10, Double(-precision))
            return .float((number / scale).rounded(.toNearestOrEven) * scale)
        case "ceil", "floor":
            let scale = pow(10, Double(precision.magnitude))
            let scaled = precision < 0 ? number / scale : number * scale
            guard let integer = Int(exactly: scaled.rounded(method == "ceil" ? .up : .down)) else { throw a.error("a number out of range") }
            return .float(precision < 0 ? Double(integer) * scale : Double(integer) / scale)
        default: throw a.error("the method of 'round' is common, ceil or floor")
        }
    }

    private static func roundedInteger(_ value: Int, _ digits: Int, _ a: Arguments) throws -> Int {
        guard digits < 19 else { return 0 }
        // At most 10^18, which fits.
        let scale = (0..<digits).reduce(into: 1) { (power: inout Int, _: Int) in power *= 10 }
        let (quotient, remainder) = value.quotientAndRemainder(dividingBy: scale)
        let half = scale / 2
        let roundsAway = remainder.magnitude > half || remainder.magnitude == half && quotient % 2 != 0
        let (result, overflow) = (quotient + (roundsAway ? value.signum() : 0)).multipliedReportingOverflow(by: scale)
        guard !overflow else { throw a.error("a number out of range") }
        return result
    }
}
