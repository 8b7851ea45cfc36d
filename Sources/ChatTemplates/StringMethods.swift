/// The methods of strings, as Python's `str` has them.
enum StringMethods {
    static let all: [String: Builtin] = [casing, checking, searching, cutting, joining].reduce(into: [:]) { $0.merge($1) { first, _ in first } }

    private static let casing: [String: Builtin] = [
        "upper": Builtin { value, a in try a.interpreter.string(LetterCase.upper(scalars(value, a))) },
        "lower": Builtin { value, a in try a.interpreter.string(LetterCase.lower(scalars(value, a))) },
        "title": Builtin { value, a in try a.interpreter.string(LetterCase.title(scalars(value, a))) },
        "capitalize": Builtin { value, a in try a.interpreter.string(LetterCase.capitalized(scalars(value, a))) },
        "swapcase": Builtin { value, a in try a.interpreter.string(LetterCase.swapped(scalars(value, a))) },
        "casefold": Builtin { value, a in
            let text = try scalars(value, a)
            guard text.allSatisfy(\.isASCII) else { throw a.error("'casefold' is supported for ASCII only") }
            return try a.interpreter.string(LetterCase.lower(text))
        },
    ]

    private static let checking: [String: Builtin] = [
        "isalpha": check { $0.isLetter }, "isdigit": check { $0.isDigit }, "isdecimal": check { $0.isDecimal }, "isnumeric": check { $0.isNumeric },
        "isalnum": check { $0.isLetter || $0.isNumeric }, "isspace": check { $0.isSpace },
        "isascii": Builtin { value, a in .bool(try scalars(value, a).allSatisfy(\.isASCII)) },
        "isprintable": Builtin { value, a in .bool(try scalars(value, a).allSatisfy(\.isPrintable)) },
        "isupper": Builtin { value, a in .bool(LetterCase.isUpper(try scalars(value, a))) },
        "islower": Builtin { value, a in .bool(LetterCase.isLower(try scalars(value, a))) },
        "istitle": Builtin { value, a in
            let text = try scalars(value, a)
            return .bool(try text.contains { $0.isUpper || $0.isLower } && same(LetterCase.title(text), StringMethods.text(value, a)))
        },
        "isidentifier": Builtin { value, a in
            let text = try scalars(value, a)
            guard let first = text.first else { return .bool(false) }
            return .bool((first == "_" || first.properties.isXIDStart) && text.allSatisfy(\.properties.isXIDContinue))
        },
        "startswith": Builtin("prefix start? end?") { value, a in .bool(try hasAffix(value, a) { $0.starts(with: $1) }) },
        "endswith": Builtin("suffix start? end?") { value, a in .bool(try hasAffix(value, a) { $0.reversed().starts(with: $1.reversed()) }) },
    ]

    private static let searching: [String: Builtin] = [
        "find": Builtin("sub start? end?") { value, a in .int(try place(value, a, last: false) ?? -1) },
        "rfind": Builtin("sub start? end?") { value, a in .int(try place(value, a, last: true) ?? -1) },
        "index": Builtin("sub start? end?") { value, a in .int(try found(place(value, a, last: false), a)) },
        "rindex": Builtin("sub start? end?") { value, a in .int(try found(place(value, a, last: true), a)) },
        "count": Builtin("sub start? end?") { value, a in
            let part = try a.text(0)
            guard let (text, _) = try window(value, a) else { return .int(0) }
            if part.isEmpty { return .int(text.count + 1) }
            return .int(try TextSearch(a.interpreter).all(part, in: utf8(text)).count)
        },
        "replace": Builtin("old new count?") { value, a in
            try a.interpreter.string(TextSearch(a.interpreter).replace(text(value, a), a.text(0), a.text(1), a.int(2)))
        },
    ]

    private static let cutting: [String: Builtin] = [
        "strip": Builtin("chars?") { value, a in try strip(text(value, a), a, a.string(0)) },
        "lstrip": Builtin("chars?") { value, a in try strip(text(value, a), a, a.string(0), trailing: false) },
        "rstrip": Builtin("chars?") { value, a in try strip(text(value, a), a, a.string(0), leading: false) },
        "removeprefix": Builtin("prefix") { value, a in
            let (text, part) = (try scalars(value, a), try a.interpreter.scalars(a.text(0)))
            return try a.interpreter.string(text.starts(with: part) ? text[part.count...] : text[...])
        },
        "removesuffix": Builtin("suffix") { value, a in
            let (text, part) = (try scalars(value, a), try a.interpreter.scalars(a.text(0)))
            return try a.interpreter.string(text.reversed().starts(with: part.reversed()) ? text[..<(text.count - part.count)] : text[...])
        },
        "split": Builtin("sep? maxsplit?") { value, a in try TextSplit(a).split(scalars(value, a), fromEnd: false) },
        "rsplit": Builtin("sep? maxsplit?") { value, a in try TextSplit(a).split(scalars(value, a), fromEnd: true) },
        "splitlines": Builtin("keepends?") { value, a in
            try a.interpreter.list(TextSplit.lines(scalars(value, a), keepsEnds: a.isTrue(0)).map { try a.interpreter.string($0) })
        },
        "partition": Builtin("sep") { value, a in try partition(value, a, last: false) },
        "rpartition": Builtin("sep") { value, a in try partition(value, a, last: true) },
    ]

    private static let joining: [String: Builtin] = [
        "join": Builtin("iterable") { value, a in
            var parts: [String] = []
            var size = 0
            let separator = try text(value, a)
            for item in try a.interpreter.elements(of: a[0] ?? .none) {
                guard let part = item.plainText else { throw a.mismatch(item, "strings") }
                parts.append(part)
                size += part.utf8.count + separator.utf8.count
                guard size <= 2 * Interpreter.maximumBytes else { throw a.interpreter.tooLong() }
            }
            return try a.interpreter.string(parts.joined(separator: separator))
        },
        "format": Builtin("* **") { value, a in try BraceFormat.format(text(value, a), a) },
        "zfill": Builtin("width") { value, a in
            let text = try scalars(value, a)
            let padding = try padding(a, to: a.int(0) ?? 0, from: text.count, with: "0")
            let isSigned = text.first == "+" || text.first == "-"
            return try a.interpreter.string((isSigned ? text.prefix(1) : []) + padding + text.dropFirst(isSigned ? 1 : 0))
        },
        "ljust": Builtin("width fillchar?") { value, a in
            let text = try scalars(value, a)
            return try a.interpreter.string(text + padding(a, to: a.int(0) ?? 0, from: text.count, with: fill(a)))
        },
        "rjust": Builtin("width fillchar?") { value, a in
            let text = try scalars(value, a)
            return try a.interpreter.string(padding(a, to: a.int(0) ?? 0, from: text.count, with: fill(a)) + text)
        },
        "center": Builtin("width fillchar?") { value, a in try centered(scalars(value, a), a, width: a.int(0) ?? 0, fill: fill(a)) },
    ]

    // MARK: Parts of the methods

    private static func text(_ value: TemplateValue, _ a: Arguments) throws -> String {
        guard case .string(let text) = value else { throw a.mismatch(value, "a string") }
        return text
    }

    private static func scalars(_ value: TemplateValue, _ a: Arguments) throws -> [Unicode.Scalar] { try a.interpreter.scalars(text(value, a)) }

    private static func utf8(_ scalars: some Sequence<Unicode.Scalar>) -> [UInt8] {
        var view = String.UnicodeScalarView()
        view.append(contentsOf: scalars)
        return Array(String(view).utf8)
    }

    private static func check(_ isFine: @escaping @Sendable (Unicode.Scalar) -> Bool) -> Builtin {
        Builtin { value, a in
            let text = try scalars(value, a)
            return .bool(!text.isEmpty && text.allSatisfy(isFine))
        }
    }

    /// The part of the text between the arguments `start` and `end`, and where it starts; nil where it starts behind the end.
    private static func window(_ value: TemplateValue, _ a: Arguments) throws -> (text: ArraySlice<Unicode.Scalar>, start: Int)? {
        let text = try scalars(value, a)
        func bound(_ bound: Int) -> Int { bound < 0 ? max(bound, -text.count) + text.count : bound }
        let (start, end) = (bound(try a.int(1) ?? 0), min(bound(try a.int(2) ?? text.count), text.count))
        return start <= end ? (text[start..<end], start) : nil
    }

    private static func place(_ value: TemplateValue, _ a: Arguments, last: Bool) throws -> Int? {
        let part = try a.text(0)
        guard let (text, start) = try window(value, a) else { return nil }
        let bytes = utf8(text)
        let search = TextSearch(a.interpreter)
        guard let place = try last ? search.last(part, in: bytes) : search.first(part, in: bytes) else { return nil }
        return start + bytes[..<place].reduce(0) { $0 + ($1 & 0xC0 != 0x80 ? 1 : 0) }
    }

    private static func found(_ place: Int?, _ a: Arguments) throws -> Int {
        guard let place else { throw a.error("the text is not found") }
        return place
    }

    private static func hasAffix(
        _ value: TemplateValue, _ a: Arguments, _ matches: (ArraySlice<Unicode.Scalar>, [Unicode.Scalar]) -> Bool
    ) throws -> Bool {
        let parts: [TemplateValue]
        if case .items(let items)? = a[0], items.kind == .tuple { parts = items.values } else { parts = [a[0] ?? .none] }
        let window = try window(value, a)
        for part in parts {
            guard let text = part.plainText else { throw a.mismatch(part, "a string or a tuple of strings") }
            if let window, matches(window.text, try a.interpreter.scalars(text)) { return true }
        }
        return false
    }

    static func strip(_ text: String, _ a: Arguments, _ characters: String?, leading: Bool = true, trailing: Bool = true) throws -> TemplateValue {
        let set = characters.map { Set($0.unicodeScalars) }
        func strips(_ scalar: Unicode.Scalar) -> Bool { set?.contains(scalar) ?? scalar.isSpace }
        var scalars = try a.interpreter.scalars(text)[...]
        if leading { scalars = scalars.drop(while: strips) }
        if trailing {
            while let last = scalars.last, strips(last) { scalars.removeLast() }
        }
        return try a.interpreter.string(scalars)
    }

    private static func partition(_ value: TemplateValue, _ a: Arguments, last: Bool) throws -> TemplateValue {
        let separator = try a.text(0)
        guard !separator.isEmpty else { throw a.error("an empty separator") }
        let whole = try text(value, a)
        let bytes = Array(whole.utf8)
        let search = TextSearch(a.interpreter)
        guard let place = try last ? search.last(separator, in: bytes) : search.first(separator, in: bytes) else {
            return try last ? a.interpreter.tuple(.string(""), .string(""), value) : a.interpreter.tuple(value, .string(""), .string(""))
        }
        let before = String(decoding: bytes[..<place], as: UTF8.self)
        let after = String(decoding: bytes[(place + separator.utf8.count)...], as: UTF8.self)
        return try a.interpreter.tuple(a.interpreter.string(before), .string(separator), a.interpreter.string(after))
    }

    private static func fill(_ a: Arguments) throws -> Unicode.Scalar {
        guard let text = try a.string(1) else { return " " }
        guard let scalar = text.unicodeScalars.first, text.unicodeScalars.count == 1 else { throw a.error("'\(a.name)' fills with one character") }
        return scalar
    }

    private static func padding(_ a: Arguments, to width: Int, from count: Int, with fill: Unicode.Scalar) throws -> [Unicode.Scalar] {
        guard width > count else { return [] }
        guard width <= Interpreter.maximumBytes else { throw a.interpreter.tooLong() }
        try a.interpreter.charge(bytes: width)
        return Array(repeating: fill, count: width - count)
    }

    static func centered(_ text: [Unicode.Scalar], _ a: Arguments, width: Int, fill: Unicode.Scalar) throws -> TemplateValue {
        let padding = try padding(a, to: width, from: text.count, with: fill)
        // Python puts the odd one left where the width is odd.
        let left = padding.count / 2 + (padding.count & width & 1)
        return try a.interpreter.string(padding.prefix(left) + text + padding.dropFirst(left))
    }
}
