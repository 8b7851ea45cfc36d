/// Cuts a template into text and the tokens between `{{ }}` and `{% %}`, with the options that chat templates are written for:
/// `trim_blocks` (the first newline after a block is dropped) and `lstrip_blocks` (white space before a block at the start of a
/// line too).
struct TemplateLexer {
    enum Token: Sendable, Equatable {
        case text(String)
        case expressionBegin, expressionEnd
        case statementBegin, statementEnd
        case name(String)
        case string(String)
        case int(Int)
        case float(Double)
        /// Operators and brackets.
        case symbol(String)
    }

    struct Lexeme: Sendable {
        let token: Token
        let line: Int
    }

    /// Longer templates are no templates.
    static let maximumScalars = 1 << 20

    let scalars: [Unicode.Scalar]
    var position = 0
    var line = 1
    private var lexemes: [Lexeme] = []
    /// Whether the tag before ended with a newline, so that a line starts here.
    private var startsLine = true

    private init(_ scalars: [Unicode.Scalar]) { self.scalars = scalars }

    static func lex(_ source: String) throws -> [Lexeme] {
        guard source.unicodeScalars.count <= maximumScalars else {
            throw TemplateError(.limit, line: 1, "the template is longer than \(maximumScalars) characters")
        }
        var scalars = withPlainNewlines(source)
        // Jinja drops one newline at the very end.
        if scalars.last == "\n" { scalars.removeLast() }
        var lexer = TemplateLexer(scalars)
        try lexer.run()
        return lexer.lexemes
    }

    private static func withPlainNewlines(_ source: String) -> [Unicode.Scalar] {
        var result: [Unicode.Scalar] = []
        var previous: Unicode.Scalar?
        for scalar in source.unicodeScalars {
            if scalar != "\n" || previous != "\r" { result.append(scalar == "\r" ? "\n" : scalar) }
            previous = scalar
        }
        return result
    }

    func at(_ offset: Int) -> Unicode.Scalar? { position + offset < scalars.count ? scalars[position + offset] : nil }

    func starts(with text: String, at index: Int? = nil) -> Bool {
        var place = index ?? position
        for scalar in text.unicodeScalars {
            guard place < scalars.count, scalars[place] == scalar else { return false }
            place += 1
        }
        return true
    }

    mutating func advance(_ count: Int = 1) {
        for _ in 0..<count where position < scalars.count {
            if scalars[position] == "\n" { line += 1 }
            position += 1
        }
    }

    func error(_ reason: String, line at: Int? = nil) -> TemplateError { TemplateError(.syntax, line: at ?? line, reason) }

    mutating func emit(_ token: Token) { lexemes.append(Lexeme(token: token, line: line)) }

    private mutating func emitText(_ text: ArraySlice<Unicode.Scalar>, line: Int) {
        guard !text.isEmpty else { return }
        lexemes.append(Lexeme(token: .text(String(String.UnicodeScalarView(text))), line: line))
    }

    // MARK: Text and tags

    private mutating func run() throws {
        while position < scalars.count {
            let start = position
            let startLine = line
            while position < scalars.count, !starts(with: "{{"), !starts(with: "{%"), !starts(with: "{#") { advance() }
            guard position < scalars.count else { return emitText(scalars[start...], line: startLine) }
            emitText(trimmed(scalars[start..<position], isExpression: at(1) == "{"), line: startLine)
            if starts(with: "{#") {
                try comment()
            } else if let opening = tagEnd(named: "raw", from: position) {
                try raw(opening)
            } else {
                try tag()
            }
            startsLine = scalars[position - 1] == "\n"
        }
    }

    /// The text before the tag at `position`, without what the tag strips.
    private func trimmed(_ text: ArraySlice<Unicode.Scalar>, isExpression: Bool) -> ArraySlice<Unicode.Scalar> {
        let sign = at(2)
        if sign == "-" { return text[..<((text.lastIndex { !$0.isSpace }).map { $0 + 1 } ?? text.startIndex)] }
        if sign == "+" || isExpression { return text }
        // lstrip_blocks: only where nothing but white space stands between the line's start and the tag.
        let newline = text.lastIndex(of: "\n")
        guard newline != nil || startsLine else { return text }
        let lineStart = newline.map { $0 + 1 } ?? text.startIndex
        return text[lineStart...].allSatisfy(\.isSpace) ? text[..<lineStart] : text
    }

    /// Takes what a tag's end strips behind it: with `-` all white space, otherwise one newline.
    private mutating func strip(_ sign: Unicode.Scalar?) {
        if sign == "-" {
            while let scalar = at(0), scalar.isSpace { advance() }
        } else if sign != "+", at(0) == "\n" {
            advance()
        }
    }

    private mutating func comment() throws {
        let begin = line
        advance(2)
        // The sign belongs to the beginning, so `{#-#}` is a whole comment.
        if at(0) == "-" || at(0) == "+" { advance() }
        let start = position
        while position < scalars.count {
            if starts(with: "#}") {
                let sign = position > start ? scalars[position - 1] : nil
                advance(2)
                return strip(sign)
            }
            advance()
        }
        throw error("a comment without an end", line: begin)
    }

    /// `{% raw %} ... {% endraw %}` as text. Other than behind all other blocks, the newline behind `raw` stays.
    private mutating func raw(_ opening: (end: Int, sign: Unicode.Scalar?)) throws {
        guard opening.sign != "+" else { throw error("expected '%}'") }
        let begin = line
        advance(opening.end - position)
        if opening.sign == "-" { strip("-") }
        startsLine = scalars[position - 1] == "\n"
        let start = position
        while position < scalars.count {
            if let closing = tagEnd(named: "endraw", from: position) {
                emitText(trimmed(scalars[start..<position], isExpression: false), line: begin)
                advance(closing.end - position)
                return strip(closing.sign)
            }
            advance()
        }
        throw error("raw without endraw", line: begin)
    }

    private func tagEnd(named name: String, from start: Int) -> (end: Int, sign: Unicode.Scalar?)? {
        guard starts(with: "{%", at: start) else { return nil }
        var index = start + 2
        if index < scalars.count, scalars[index] == "-" || scalars[index] == "+" { index += 1 }
        while index < scalars.count, scalars[index].isSpace { index += 1 }
        guard starts(with: name, at: index) else { return nil }
        index += name.unicodeScalars.count
        while index < scalars.count, scalars[index].isSpace { index += 1 }
        var sign: Unicode.Scalar?
        if index < scalars.count, scalars[index] == "-" || scalars[index] == "+" {
            sign = scalars[index]
            index += 1
        }
        return starts(with: "%}", at: index) ? (index + 2, sign) : nil
    }

    private mutating func tag() throws {
        let begin = line
        let isExpression = at(1) == "{"
        emit(isExpression ? .expressionBegin : .statementBegin)
        advance(2)
        if at(0) == "-" || at(0) == "+" { advance() }
        let end = isExpression ? "}}" : "%}"
        var brackets: [Unicode.Scalar] = []
        while let scalar = at(0) {
            if scalar.isSpace {
                advance()
                continue
            }
            // `+%}` keeps the newline; an expression has no such end.
            let isSigned = scalar == "-" || scalar == "+" && !isExpression
            if brackets.isEmpty, starts(with: end, at: position + (isSigned ? 1 : 0)) {
                emit(isExpression ? .expressionEnd : .statementEnd)
                advance(isSigned ? 3 : 2)
                if !isExpression || scalar == "-" { strip(scalar) }
                return
            }
            switch scalar {
            case "(": brackets.append(")")
            case "[": brackets.append("]")
            case "{": brackets.append("}")
            case ")", "]", "}":
                guard brackets.popLast() == scalar else { throw error("unexpected '\(scalar)'") }
            default: break
            }
            try token(scalar)
        }
        throw error("a tag without an end", line: begin)
    }

    private mutating func token(_ scalar: Unicode.Scalar) throws {
        if scalar == "\"" || scalar == "'" { return try string(scalar) }
        if Self.isDigit(scalar) { return try number() }
        if scalar == "_" || scalar.properties.isXIDStart {
            let start = position
            while let next = at(0), next.properties.isXIDContinue { position += 1 }
            return emit(.name(String(String.UnicodeScalarView(scalars[start..<position]))))
        }
        for symbol in ["==", "!=", "<=", ">=", "//", "**"] where starts(with: symbol) {
            emit(.symbol(symbol))
            return advance(2)
        }
        guard "+-*/%~<>=()[]{}.,:|".unicodeScalars.contains(scalar) else {
            throw error("unexpected character \(TemplateValue.string(String(Character(scalar))).representation ?? "")")
        }
        emit(.symbol(String(Character(scalar))))
        advance()
    }
}
