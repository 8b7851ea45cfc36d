/// Python's case of letters.
enum LetterCase {
    static func upper(_ text: some Sequence<Unicode.Scalar>) -> String { text.reduce(into: "") { $0 += $1.properties.uppercaseMapping } }

    static func lower(_ text: some Sequence<Unicode.Scalar>) -> String {
        let scalars = Array(text)
        var result = ""
        for index in scalars.indices { result += lower(scalars, index) }
        return result
    }

    /// One letter in its context, as a sigma at a word's end has a form of its own.
    private static func lower(_ scalars: [Unicode.Scalar], _ index: Int) -> String {
        guard scalars[index] == "\u{3A3}" else { return scalars[index].properties.lowercaseMapping }
        return isFinalSigma(scalars, index) ? "\u{3C2}" : "\u{3C3}"
    }

    /// Unicode's rule: a letter before and none behind, over what has no case of its own.
    private static func isFinalSigma(_ scalars: [Unicode.Scalar], _ index: Int) -> Bool {
        let before = scalars[..<index].last { !$0.properties.isCaseIgnorable }
        let after = scalars[(index + 1)...].first { !$0.properties.isCaseIgnorable }
        return (before?.properties.isCased ?? false) && !(after?.properties.isCased ?? false)
    }

    static func capitalized(_ text: some Collection<Unicode.Scalar>) -> String {
        guard let first = text.first else { return "" }
        // The rest in its context, so that a final sigma is one.
        let all = Array(text)
        return first.properties.titlecaseMapping + (all.count > 1 ? String(lower(all).unicodeScalars.dropFirst(first.properties.lowercaseMapping.unicodeScalars.count)) : "")
    }

    /// `str.title`: an upper-case letter behind all that is no letter.
    static func title(_ text: some Sequence<Unicode.Scalar>) -> String {
        var result = ""
        var word: [Unicode.Scalar] = []
        for scalar in text {
            if scalar.properties.isCased {
                word.append(scalar)
            } else {
                result += capitalized(word)
                word = []
                result.unicodeScalars.append(scalar)
            }
        }
        return result + capitalized(word)
    }

    static func swapped(_ text: [Unicode.Scalar]) -> String {
        text.indices.reduce(into: "") { $0 += text[$1].isUpper ? lower(text, $1) : text[$1].isLower ? text[$1].properties.uppercaseMapping : String(text[$1]) }
    }

    static func isUpper(_ text: some Sequence<Unicode.Scalar>) -> Bool {
        var hasCase = false
        for scalar in text {
            if scalar.isLower || scalar.properties.generalCategory == .titlecaseLetter { return false }
            hasCase = hasCase || scalar.isUpper
        }
        return hasCase
    }

    static func isLower(_ text: some Sequence<Unicode.Scalar>) -> Bool {
        var hasCase = false
        for scalar in text {
            if scalar.isUpper || scalar.properties.generalCategory == .titlecaseLetter { return false }
            hasCase = hasCase || scalar.isLower
        }
        return hasCase
    }
}

extension Unicode.Scalar {
    var isUpper: Bool { properties.isUppercase }
    var isLower: Bool { properties.isLowercase }
    var isLetter: Bool {
        switch properties.generalCategory {
        case .uppercaseLetter, .lowercaseLetter, .titlecaseLetter, .modifierLetter, .otherLetter: return true
        default: return false
        }
    }
    /// Python's `isdecimal`, `isdigit` and `isnumeric`, each wider than the one before.
    var isDecimal: Bool { properties.numericType == .decimal }
    var isDigit: Bool { isDecimal || properties.numericType == .digit }
    var isNumeric: Bool { properties.numericType != nil }
}
