/// Python's `str.split`, `rsplit` and `splitlines`.
struct TextSplit {
    private let arguments: Arguments
    private let separator: [Unicode.Scalar]?
    private let limit: Int

    /// Takes the arguments `sep` and `maxsplit`.
    init(_ arguments: Arguments) throws {
        self.arguments = arguments
        separator = try arguments.string(0).map { try arguments.interpreter.scalars($0) }
        let limit = try arguments.int(1) ?? -1
        self.limit = limit < 0 ? .max : limit
        if let separator, separator.isEmpty { throw arguments.error("an empty separator") }
        if let separator = arguments[0], separator.isUndefined { throw arguments.mismatch(separator, "a string") }
    }

    /// - Parameter fromEnd: Which end the splits count from, where there are more than `maxsplit`.
    func split(_ text: [Unicode.Scalar], fromEnd: Bool) throws -> TemplateValue {
        // From the end is the same on the reversed text.
        let source = fromEnd ? Array(text.reversed()) : text
        var parts = try separator.map { try split(source, at: fromEnd ? $0.reversed() : $0) } ?? splitAtSpace(source)
        if fromEnd { parts = parts.map { $0.reversed() }.reversed() }
        return try arguments.interpreter.list(parts.map { try arguments.interpreter.string($0) })
    }

    private func split(_ text: [Unicode.Scalar], at separator: [Unicode.Scalar]) throws -> [[Unicode.Scalar]] {
        var parts: [[Unicode.Scalar]] = []
        var start = 0
        var place = 0
        while parts.count < limit, place + separator.count <= text.count {
            var length = 0
            while length < separator.count, text[place + length] == separator[length] { length += 1 }
            if length > 8 { try arguments.interpreter.charge(length / 8) }
            if length == separator.count {
                try arguments.interpreter.charge()
                parts.append(Array(text[start..<place]))
                place += length
                start = place
            } else {
                place += 1
            }
        }
        return parts + [Array(text[start...])]
    }

    /// At runs of white space.
    private func splitAtSpace(_ text: [Unicode.Scalar]) throws -> [[Unicode.Scalar]] {
        var parts: [[Unicode.Scalar]] = []
        var rest = text.drop(while: \.isSpace)
        while parts.count < limit, !rest.isEmpty {
            try arguments.interpreter.charge()
            let part = rest.prefix { !$0.isSpace }
            parts.append(Array(part))
            rest = rest[part.endIndex...].drop(while: \.isSpace)
        }
        // Behind the last split all stays.
        if !rest.isEmpty { parts.append(Array(rest)) }
        return parts
    }

    static func lines(_ text: [Unicode.Scalar], keepsEnds: Bool) -> [ArraySlice<Unicode.Scalar>] {
        var lines: [ArraySlice<Unicode.Scalar>] = []
        var start = 0
        var place = 0
        while place < text.count {
            switch text[place] {
            case "\n", "\r", "\u{B}", "\u{C}", "\u{1C}", "\u{1D}", "\u{1E}", "\u{85}", "\u{2028}", "\u{2029}":
                let end = text[place] == "\r" && place + 1 < text.count && text[place + 1] == "\n" ? place + 2 : place + 1
                lines.append(text[start..<(keepsEnds ? end : place)])
                start = end
                place = end
            default: place += 1
            }
        }
        if start < text.count { lines.append(text[start...]) }
        return lines
    }
}
