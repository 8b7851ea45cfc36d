/// Turns a pattern in Oniguruma's Ruby syntax, which tokenizer files use, into a PCRE2 pattern that matches the same.
/// Character classes come from the reference's Unicode tables. What PCRE2 cannot say the same way is an error.
///
/// Source: Oniguruma, doc/RE (Ruby syntax); pcre2pattern(3).
struct OnigurumaTranslator {
    private let scalars: [UInt32]
    private let path: String
    private var index = 0
    private var output = ""
    /// Open groups: for each the options to restore, and how many extra parentheses to close with it.
    private var groups: [(options: Options, extra: Int)] = []
    private var options = Options()
    private var extra = 0
    private var lastLiteral: UInt32?

    private struct Options {
        var ignoresCase = false
        var isExtended = false
    }

    static func translate(_ pattern: [UInt8], path: String) throws -> [UInt8] {
        guard pattern.count <= 1 << 16 else {
            throw TokenizerError.invalid(path: path, reason: "the pattern is longer than 65536 bytes")
        }
        var translator = OnigurumaTranslator(scalars: UTF8Bytes.scalars(pattern), path: path)
        try translator.run()
        return Array(translator.output.utf8)
    }

    private init(scalars: [UInt32], path: String) {
        self.scalars = scalars
        self.path = path
    }

    // MARK: - Cursor

    private var current: UInt32? { index < scalars.count ? scalars[index] : nil }

    private func isAt(_ text: StaticString) -> Bool {
        let count = text.utf8CodeUnitCount
        guard scalars.count - index >= count else { return false }
        return (0..<count).allSatisfy { scalars[index + $0] == UInt32(text.utf8Start[$0]) }
    }

    private func unsupported(_ what: String) -> TokenizerError {
        .unsupported(path: path, reason: "\(what) in a pattern (character \(index))")
    }

    private func invalid(_ what: String) -> TokenizerError {
        .invalid(path: path, reason: "\(what) in the pattern (character \(index))")
    }

    private static func literal(_ scalar: UInt32) -> String { "\\x{\(String(scalar, radix: 16))}" }

    // MARK: - Outside brackets

    private mutating func run() throws {
        while let scalar = current {
            switch scalar {
            case 0x5C: try escape()
            case 0x5B: try bracket()
            case 0x28: try openGroup()
            case 0x29:
                guard let group = groups.popLast() else { throw invalid("unmatched )") }
                output += String(repeating: ")", count: extra + 1)
                options = group.options
                extra = group.extra
                index += 1
                lastLiteral = nil
            case 0x7B: try interval()
            case 0x2A, 0x2B, 0x3F, 0x2E, 0x5E, 0x24, 0x7C:  // * + ? . ^ $ |
                append(scalar)
                lastLiteral = nil
                index += 1
            default:
                try addLiteral(scalar)
                index += 1
            }
        }
        guard groups.isEmpty else { throw invalid("missing )") }
        output += String(repeating: ")", count: extra)
    }

    private mutating func append(_ scalar: UInt32) {
        if let unicode = Unicode.Scalar(scalar) { output.unicodeScalars.append(unicode) }
    }

    private mutating func addLiteral(_ scalar: UInt32) throws {
        if options.isExtended, scalar == 0x23 || scalar == 0x20 || (scalar >= 9 && scalar <= 13) {
            append(scalar)
            return
        }
        output += Self.literal(scalar)
        if options.ignoresCase {
            // Oniguruma lets these sequences match one letter (such as ß for ss); PCRE2 does not.
            let lower = LowercaseMap.lowercase(scalar)
            let pairs: [(UInt32, UInt32)] = [(0x73, 0x73), (0x66, 0x66), (0x66, 0x69), (0x66, 0x6C), (0x73, 0x74)]
            if let last = lastLiteral, pairs.contains(where: { $0 == (last, lower) }) || (lower >= 0x300 && lower < 0x370) {
                throw unsupported("ignoring case of a sequence that folds to one letter")
            }
            lastLiteral = lower
        }
    }

    private mutating func openGroup() throws {
        lastLiteral = nil
        if isAt("(*") { throw unsupported("(*...)") }
        guard isAt("(?") else {
            push("(", length: 1)
            return
        }
        if isAt("(?#") {
            while let scalar = current, scalar != 0x29 { index += scalar == 0x5C ? 2 : 1 }
            guard current != nil else { throw invalid("comment without end") }
            index += 1
            return
        }
        if isAt("(?:") { return push("(?:", length: 3) }
        if isAt("(?=") { return push("(?=", length: 3) }
        if isAt("(?!") { return push("(?!", length: 3) }
        if isAt("(?>") { return push("(?>", length: 3) }
        if isAt("(?<=") { return push("(?<=", length: 4) }
        if isAt("(?<!") { return push("(?<!", length: 4) }
        if isAt("(?<") { return push("(?<", length: 3) }
        // Options, alone (until the end of the group) or for a group of their own.
        index += 2
        var turnOn = true
        var changed = options
        var letters = ""
        while let scalar = current, scalar != 0x3A, scalar != 0x29 {
            switch scalar {
            case 0x2D: turnOn = false
            case 0x69: changed.ignoresCase = turnOn
            case 0x78: changed.isExtended = turnOn
            case 0x6D: break
            default: throw unsupported("the group (?\(Unicode.Scalar(scalar).map(String.init) ?? ""))")
            }
            // Ruby's m lets the dot match a newline, which is s in PCRE2.
            letters += scalar == 0x6D ? "s" : Unicode.Scalar(scalar).map(String.init) ?? ""
            index += 1
        }
        guard let end = current else { throw invalid("group without end") }
        if end == 0x3A {
            push("(?\(letters):", length: 1)
            options = changed
        } else {
            output += "(?\(letters):"
            extra += 1
            index += 1
            options = changed
        }
    }

    private mutating func push(_ text: String, length: Int) {
        groups.append((options, extra))
        extra = 0
        output += text
        index += length
    }

    /// `{n}`, `{n,}`, `{n,m}`, `{,m}`; anything else is the character itself.
    private mutating func interval() throws {
        var end = index + 1
        while end < scalars.count, scalars[end] == 0x2C || (scalars[end] >= 0x30 && scalars[end] <= 0x39) { end += 1 }
        let inside = scalars[(index + 1)..<end].compactMap(Unicode.Scalar.init).map(String.init).joined()
        let commas = inside.filter { $0 == "," }.count
        guard end < scalars.count, scalars[end] == 0x7D, commas <= 1, inside != "", inside != "," else {
            try addLiteral(0x7B)
            index += 1
            return
        }
        output += "{" + (inside.hasPrefix(",") ? "0" : "") + inside + "}"
        index = end + 1
        lastLiteral = nil
        if current == 0x2B { throw unsupported("+ after an interval") }
        if current == 0x3F, commas == 0 { throw unsupported("? after a fixed count") }
    }

    private mutating func escape() throws {
        guard index + 1 < scalars.count else { throw invalid("\\ at the end") }
        let scalar = scalars[index + 1]
        let isCapital = scalar < 0x60
        let before = lastLiteral
        lastLiteral = nil
        if let found = try classEscape() {
            output += found.negated ? "[^\(found.class.bracket)]" : "[\(found.class.bracket)]"
            return
        }
        switch scalar {
        case 0x62, 0x42:  // \b \B
            let word = "[\(RegexClass.word.bracket)]"
            output += isCapital ? "(?:(?<=\(word))(?=\(word))|(?<!\(word))(?!\(word)))"
                : "(?:(?<=\(word))(?!\(word))|(?<!\(word))(?=\(word)))"
            index += 2
        case 0x41, 0x7A, 0x5A, 0x4B, 0x52:  // \A \z \Z \K \R
            output += "\\"
            append(scalar)
            index += 2
        case 0x31...0x39:  // back references
            output += "\\g{"
            append(scalar)
            output += "}"
            index += 2
        case 0x6B:
            guard index + 2 < scalars.count, scalars[index + 2] == 0x3C else { throw unsupported("\\k") }
            output += "\\k"
            index += 2
            while let scalar = current {
                append(scalar)
                index += 1
                if scalar == 0x3E { break }
            }
        default:
            let value = try literalEscape()
            lastLiteral = before
            try addLiteral(value)
        }
    }

    // MARK: - Escapes that brackets share

    /// A class escape at the current place, consumed, or nil.
    private mutating func classEscape() throws -> (class: RegexClass, negated: Bool)? {
        let scalar = scalars[index + 1]
        switch scalar {
        case 0x64, 0x44: return advance(.digit, scalar == 0x44)
        case 0x77, 0x57: return advance(.word, scalar == 0x57)
        case 0x73, 0x53: return advance(.whitespace, scalar == 0x53)
        case 0x68, 0x48: return advance(.hexDigit, scalar == 0x48)
        case 0x70, 0x50:
            var end = index + 2
            guard end < scalars.count, scalars[end] == 0x7B else { throw invalid("\\p without {name}") }
            end += 1
            var negated = scalar == 0x50
            if end < scalars.count, scalars[end] == 0x5E {
                negated.toggle()
                end += 1
            }
            var name = ""
            while end < scalars.count, scalars[end] != 0x7D, let unicode = Unicode.Scalar(scalars[end]) {
                name.unicodeScalars.append(unicode)
                end += 1
            }
            guard end < scalars.count else { throw invalid("\\p{ without }") }
            index = end + 1
            if let known = RegexClass(property: name) { return (known, negated) }
            guard !name.isEmpty, name.utf8.allSatisfy({ $0 == 0x5F || ($0 | 0x20 >= 0x61 && $0 | 0x20 <= 0x7A) }) else {
                throw invalid("bad property name")
            }
            // Other categories and scripts as PCRE2 has them; it refuses names that it does not know.
            let isCategory = name.utf8.count <= 2
            if !isCategory, negated { throw unsupported("\\P{\(name)}") }
            return (.general([], isCategory ? "\\p{\(name)}" : "\\p{sc:\(name)}"), negated)
        default: return nil
        }
    }

    private mutating func advance(_ found: RegexClass, _ negated: Bool) -> (class: RegexClass, negated: Bool) {
        index += 2
        return (found, negated)
    }

    /// The scalar that an escape stands for.
    private mutating func literalEscape() throws -> UInt32 {
        let scalar = scalars[index + 1]
        index += 2
        switch scalar {
        case 0x6E: return 0x0A
        case 0x74: return 0x09
        case 0x72: return 0x0D
        case 0x66: return 0x0C
        case 0x76: return 0x0B
        case 0x61: return 0x07
        case 0x65: return 0x1B
        case 0x75: return try hex(count: 4...4)
        case 0x78:
            guard current == 0x7B else {
                let value = try hex(count: 1...2)
                if value > 0x7F { throw unsupported("a raw byte") }
                return value
            }
            index += 1
            let value = try hex(count: 1...8)
            guard current == 0x7D else { throw invalid("\\x{ without }") }
            index += 1
            return value
        case 0x30...0x39, 0x41...0x5A, 0x61...0x7A:
            throw unsupported("the escape \\\(Unicode.Scalar(scalar).map(String.init) ?? "")")
        default: return scalar
        }
    }

    private mutating func hex(count: ClosedRange<Int>) throws -> UInt32 {
        var value: UInt32 = 0
        var digits = 0
        while digits < count.upperBound, let scalar = current {
            switch scalar {
            case 0x30...0x39: value = value << 4 | (scalar - 0x30)
            case 0x41...0x46: value = value << 4 | (scalar - 0x37)
            case 0x61...0x66: value = value << 4 | (scalar - 0x57)
            default:
                guard digits >= count.lowerBound, Unicode.Scalar(value) != nil else { throw invalid("bad hexadecimal number") }
                return value
            }
            digits += 1
            index += 1
        }
        guard digits >= count.lowerBound, Unicode.Scalar(value) != nil else { throw invalid("bad hexadecimal number") }
        return value
    }

    // MARK: - Brackets

    private mutating func bracket() throws {
        lastLiteral = nil
        index += 1
        var result = "["
        if current == 0x5E {
            result += "^"
            index += 1
        }
        if current == 0x5D { throw unsupported("an empty bracket") }
        while true {
            guard let scalar = current else { throw invalid("missing ]") }
            if scalar == 0x5D {
                index += 1
                break
            }
            if isAt("&&") { throw unsupported("&& in brackets") }
            if scalar == 0x5B {
                result += try posixClass()
                continue
            }
            if scalar == 0x5C {
                guard index + 1 < scalars.count else { throw invalid("\\ at the end") }
                if let found = try classEscape() {
                    if found.negated, case .general(let classes, _) = found.class, classes.isEmpty {
                        throw unsupported("this negated property in brackets")
                    }
                    result += found.negated ? found.class.complement : found.class.bracket
                    continue
                }
            }
            let first = try bracketScalar()
            // A hyphen makes a range unless it stands last.
            if current == 0x2D, index + 1 < scalars.count, scalars[index + 1] != 0x5D {
                index += 1
                if current == 0x5B { throw unsupported("a range to a bracket") }
                let last = try bracketScalar()
                guard first <= last else { throw invalid("a range that runs backwards") }
                result += Self.literal(first) + "-" + Self.literal(last)
            } else {
                result += Self.literal(first)
            }
        }
        output += result + "]"
    }

    private mutating func bracketScalar() throws -> UInt32 {
        guard let scalar = current else { throw invalid("missing ]") }
        guard scalar == 0x5C else {
            index += 1
            return scalar
        }
        guard index + 1 < scalars.count else { throw invalid("\\ at the end") }
        if scalars[index + 1] == 0x62 {
            index += 2
            return 0x08
        }
        if "dDwWsShHpP".unicodeScalars.contains(where: { $0.value == scalars[index + 1] }) {
            throw unsupported("a class as the end of a range")
        }
        return try literalEscape()
    }

    private mutating func posixClass() throws -> String {
        let names: [(StaticString, RegexClass)] = [
            ("[:space:]", .whitespace), ("[:digit:]", .digit), ("[:word:]", .word), ("[:xdigit:]", .hexDigit),
        ]
        for (name, found) in names where isAt(name) {
            index += name.utf8CodeUnitCount
            return found.bracket
        }
        throw unsupported("a bracket in a bracket")
    }
}
