/// Filters of text; other values are turned into text first, as `str()` does.
enum TextFilters {
    static let all: [String: Builtin] = [
        "string": Builtin { value, a in if case .markup = value { value } else { try a.interpreter.string(a.interpreter.text(value)) } },
        "upper": Builtin { value, a in try a.interpreter.string(LetterCase.upper(scalars(value, a))) },
        "lower": Builtin { value, a in try a.interpreter.string(LetterCase.lower(scalars(value, a))) },
        "capitalize": Builtin { value, a in try a.interpreter.string(LetterCase.capitalized(scalars(value, a))) },
        "title": Builtin { value, a in try title(scalars(value, a), a) },
        "trim": Builtin("chars?") { value, a in try StringMethods.strip(a.interpreter.text(value), a, a.string(0)) },
        "replace": Builtin("old new count?") { value, a in
            let (old, new) = (try a.interpreter.text(a[0] ?? .none), try a.interpreter.text(a[1] ?? .none))
            return try a.interpreter.string(TextSearch(a.interpreter).replace(a.interpreter.text(value), old, new, a.int(2)))
        },
        "center": Builtin("width?") { value, a in try StringMethods.centered(scalars(value, a), a, width: a.int(0) ?? 80, fill: " ") },
        "indent": Builtin("width? first? blank?", indent),
        "wordcount": Builtin { value, a in
            var count = 0
            var isInWord = false
            for scalar in try scalars(value, a) {
                let isWord = scalar == "_" || scalar.isLetter || scalar.isNumeric
                if isWord, !isInWord { count += 1 }
                isInWord = isWord
            }
            return .int(count)
        },
        "truncate": Builtin("length? killwords? end? leeway?", truncate),
        "format": Builtin("*") { value, a in try a.interpreter.printf(a.interpreter.text(value), a.rest) },
        "escape": Builtin { value, a in try .markup(a.interpreter.escaped(value, a.interpreter.text(value))) },
        "e": Builtin { value, a in try .markup(a.interpreter.escaped(value, a.interpreter.text(value))) },
        "safe": Builtin { value, a in try .markup(a.interpreter.text(value)) },
        "tojson": Builtin("ensure_ascii? indent? separators? sort_keys?") { value, a in try a.interpreter.string(JSONText(a).text(value)) },
    ]

    private static func scalars(_ value: TemplateValue, _ a: Arguments) throws -> [Unicode.Scalar] { try a.interpreter.scalars(a.interpreter.text(value)) }

    /// Other than `str.title`, words begin behind white space, `-` and opening brackets only.
    private static func title(_ text: [Unicode.Scalar], _ a: Arguments) throws -> TemplateValue {
        var result = ""
        var word: [Unicode.Scalar] = []
        func finishWord() {
            guard let first = word.first else { return }
            result += first.properties.uppercaseMapping + LetterCase.lower(word.dropFirst())
            word = []
        }
        for scalar in text {
            if scalar.isSpace || "-({[<".unicodeScalars.contains(scalar) {
                finishWord()
                result.unicodeScalars.append(scalar)
            } else {
                word.append(scalar)
            }
        }
        finishWord()
        return try a.interpreter.string(result)
    }

    /// Spaces before every line but the first (with `first` also that), and not before empty ones (with `blank` also those).
    private static let indent: Builtin.Body = { value, a in
        guard case .string(let text) = value else { throw a.mismatch(value, "a string") }
        let indention: String
        if case .string(let own)? = a[0] {
            indention = own
        } else {
            let width = try a.int(0) ?? 4
            guard width <= 1000 else { throw a.interpreter.limit("an indent of more than 1000") }
            indention = String(repeating: " ", count: max(width, 0))
        }
        let isBlankToo = a.isTrue(2)
        var lines = TextSplit.lines(try a.interpreter.scalars(text + "\n"), keepsEnds: false).map { String(String.UnicodeScalarView($0)) }
        let (size, overflow) = lines.count.multipliedReportingOverflow(by: indention.utf8.count + 1)
        guard !overflow, size + text.utf8.count <= Interpreter.maximumBytes else { throw a.interpreter.tooLong() }
        for index in lines.indices.dropFirst() where isBlankToo || !lines[index].isEmpty { lines[index] = indention + lines[index] }
        return try a.interpreter.string((a.isTrue(1) ? indention : "") + lines.joined(separator: "\n"))
    }

    private static let truncate: Builtin.Body = { value, a in
        let text = try scalars(value, a)
        let (length, leeway) = (try a.int(0) ?? 255, try a.int(3) ?? 5)
        let end = Array((try a.string(2) ?? "...").unicodeScalars)
        guard length >= end.count, leeway >= 0, length <= Interpreter.maximumBytes, leeway <= Interpreter.maximumBytes else {
            throw a.error("'truncate' needs a length of at least \(end.count)")
        }
        if text.count <= length + leeway { return try a.interpreter.string(text) }
        var kept = text[..<(length - end.count)]
        // Back to the last space, unless words may be cut.
        if !a.isTrue(1), let space = kept.lastIndex(of: " ") { kept = kept[..<space] }
        return try a.interpreter.string(kept + end)
    }
}
