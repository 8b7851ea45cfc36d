/// Strings and numbers between the braces of a template, written as in Python.
extension TemplateLexer {
    mutating func string(_ quote: Unicode.Scalar) throws {
        let begin = line
        advance()
        var text = String.UnicodeScalarView()
        while let scalar = at(0) {
            advance()
            if scalar == quote { return emit(.string(String(text))) }
            if scalar == "\\" {
                try escape(into: &text)
            } else {
                text.append(scalar)
            }
        }
        throw error("a string without an end", line: begin)
    }

    private mutating func escape(into text: inout String.UnicodeScalarView) throws {
        guard let scalar = at(0) else { return }
        advance()
        switch scalar {
        case "n": text.append("\n")
        case "t": text.append("\t")
        case "r": text.append("\r")
        case "a": text.append("\u{7}")
        case "b": text.append("\u{8}")
        case "f": text.append("\u{C}")
        case "v": text.append("\u{B}")
        case "\n": break
        case "\\", "'", "\"": text.append(scalar)
        case "x": text.append(try hexadecimal(2))
        case "u": text.append(try hexadecimal(4))
        case "U": text.append(try hexadecimal(8))
        case "N": throw error("characters by name (\\N) are not supported, write \\u and the number")
        case "0"..."7":
            var value = scalar.value - 48
            for _ in 0..<2 {
                guard let next = at(0), ("0"..."7").contains(next) else { break }
                value = value << 3 | (next.value - 48)
                advance()
            }
            if let character = Unicode.Scalar(value) { text.append(character) }
        default:
            text.append("\\")
            text.append(scalar)
        }
    }

    private mutating func hexadecimal(_ count: Int) throws -> Unicode.Scalar {
        var value: UInt32 = 0
        for _ in 0..<count {
            guard let scalar = at(0), scalar.isASCII, let digit = Character(scalar).hexDigitValue else { throw error("an escape needs \(count) hexadecimal digits") }
            value = value << 4 | UInt32(digit)
            advance()
        }
        guard let scalar = Unicode.Scalar(value) else { throw error("an escape that names no character") }
        return scalar
    }

    mutating func number() throws {
        if at(0) == "0", let letter = at(1), let radix = ["x": 16, "X": 16, "o": 8, "O": 8, "b": 2, "B": 2][letter] { return try integer(radix: radix) }
        var text = digits()
        // Behind a point (`a.0.5`) stands an index, never a fraction.
        let isIndex = position > text.utf8.count && scalars[position - text.utf8.count - 1] == "."
        var isFloat = false
        if !isIndex, at(0) == ".", let next = at(1), Self.isDigit(next) {
            advance()
            text += "." + digits()
            isFloat = true
        }
        let isSigned = at(1) == "+" || at(1) == "-"
        if !isIndex, at(0) == "e" || at(0) == "E", let digit = at(isSigned ? 2 : 1), Self.isDigit(digit) {
            text += "e"
            if let sign = at(1), isSigned { text.unicodeScalars.append(sign) }
            advance(isSigned ? 2 : 1)
            text += digits()
            isFloat = true
        }
        if isFloat {
            guard let value = Double(text) else { throw error("'\(text)' is no number") }
            return emit(.float(value))
        }
        guard text.utf8.first != 0x30 || text.utf8.allSatisfy({ $0 == 0x30 }) else { throw error("the number \(text) starts with a zero") }
        guard let value = Int(text) else { throw error("a number that is too large") }
        emit(.int(value))
    }

    private mutating func integer(radix: Int) throws {
        advance(2)
        var value = 0
        var count = 0
        while let scalar = at(0), scalar.isASCII {
            if scalar == "_", let next = at(1), next.isASCII, Character(next).isHexDigit {
                advance()
                continue
            }
            guard let digit = Character(scalar).hexDigitValue, digit < radix else { break }
            let (product, overflow) = value.multipliedReportingOverflow(by: radix)
            let (sum, overflows) = product.addingReportingOverflow(digit)
            guard !overflow, !overflows else { throw error("a number that is too large") }
            value = sum
            count += 1
            advance()
        }
        guard count > 0 else { throw error("a number without digits") }
        emit(.int(value))
    }

    /// Digits with `_` between them.
    private mutating func digits() -> String {
        var text = ""
        while let scalar = at(0) {
            if Self.isDigit(scalar) {
                text.unicodeScalars.append(scalar)
            } else {
                guard scalar == "_", let next = at(1), Self.isDigit(next) else { break }
            }
            advance()
        }
        return text
    }

    static func isDigit(_ scalar: Unicode.Scalar) -> Bool { scalar >= "0" && scalar <= "9" }
}
