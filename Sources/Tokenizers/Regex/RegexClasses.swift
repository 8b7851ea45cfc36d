/// Character classes of the reference's regex engine, written as the inside of a PCRE2 bracket.
enum RegexClass {
    case whitespace, digit, word, hexDigit, han
    /// Several general classes, and their PCRE2 name.
    case general([GeneralClass], String)

    /// The class of a property name, nil when there is no table for it.
    init?(property name: String) {
        switch name.lowercased().filter({ $0 != " " && $0 != "_" && $0 != "-" }) {
        case "l", "letter":
            self = .general([.uppercase, .lowercase, .titlecase, .modifierLetter, .otherLetter], "\\p{L}")
        case "n", "number": self = .general([.decimal, .otherNumber], "\\p{N}")
        case "p", "punct", "punctuation": self = .general([.punctuation], "\\p{P}")
        case "m", "mark": self = .general([.mark], "\\p{M}")
        case "s", "symbol": self = .general([.symbol], "\\p{S}")
        case "lu", "uppercaseletter": self = .general([.uppercase], "\\p{Lu}")
        case "ll", "lowercaseletter": self = .general([.lowercase], "\\p{Ll}")
        case "lt", "titlecaseletter": self = .general([.titlecase], "\\p{Lt}")
        case "lm", "modifierletter": self = .general([.modifierLetter], "\\p{Lm}")
        case "lo", "otherletter": self = .general([.otherLetter], "\\p{Lo}")
        case "nd", "decimalnumber", "digit": self = .digit
        case "space", "whitespace": self = .whitespace
        case "word": self = .word
        case "han": self = .han
        default: return nil
        }
    }

    /// The class inside a bracket.
    var bracket: String {
        switch self {
        case .whitespace: Self.text(Self.pairs(UnicodeTables.whitespace))
        case .hexDigit: "0-9A-Fa-f"
        case .han: Self.text(Self.pairs(UnicodeTables.han))
        case .digit: "\\p{Nd}" + Self.additions([.decimal])
        case .general(let classes, let name): name + Self.additions(classes)
        case .word:
            "\\p{L}\\p{M}\\p{Nd}" + Self.additions(Self.wordClasses) + Self.text(Self.pairs(UnicodeTables.wordExtra))
        }
    }

    /// Everything outside the class, inside a bracket.
    var complement: String {
        let ranges: [ClosedRange<UInt32>]
        switch self {
        case .whitespace: ranges = Self.pairs(UnicodeTables.whitespace)
        case .hexDigit: ranges = [0x30...0x39, 0x41...0x46, 0x61...0x66]
        case .han: ranges = Self.pairs(UnicodeTables.han)
        case .digit: ranges = Self.ranges(of: [.decimal])
        case .general(let classes, _): ranges = Self.ranges(of: classes)
        case .word: ranges = Self.ranges(of: Self.wordClasses) + Self.pairs(UnicodeTables.wordExtra)
        }
        var next: UInt32 = 0
        var outside: [ClosedRange<UInt32>] = []
        func add(upTo end: UInt32) { if end > next { outside.append(next...(end - 1)) } }
        for range in ranges.sorted(by: { $0.lowerBound < $1.lowerBound }) {
            add(upTo: range.lowerBound)
            next = max(next, range.upperBound + 1)
        }
        add(upTo: 0x110000)
        return Self.text(outside)
    }

    private static let wordClasses: [GeneralClass] = [
        .uppercase, .lowercase, .titlecase, .modifierLetter, .otherLetter, .mark, .decimal,
    ]

    private static func pairs(_ table: [UInt32]) -> [ClosedRange<UInt32>] {
        stride(from: 0, to: table.count - 1, by: 2).map { table[$0]...table[$0 + 1] }
    }

    private static func ranges(of classes: [GeneralClass]) -> [ClosedRange<UInt32>] {
        let runs = UnicodeTables.generalClassRuns
        var result: [ClosedRange<UInt32>] = []
        for (index, run) in runs.enumerated() {
            guard let found = GeneralClass(rawValue: UInt8(run & 0xF)), classes.contains(found) else { continue }
            let end = index + 1 < runs.count ? runs[index + 1] >> 4 : 0x110000
            result.append((run >> 4)...(end - 1))
        }
        return result
    }

    /// What a PCRE2 with Unicode 14 lacks of these classes.
    private static func additions(_ classes: [GeneralClass]) -> String {
        let table = UnicodeTables.newerThanUnicode14
        var result: [ClosedRange<UInt32>] = []
        for index in stride(from: 0, to: table.count - 1, by: 2) {
            guard let found = GeneralClass(rawValue: UInt8(table[index] & 0xF)), classes.contains(found) else { continue }
            result.append((table[index] >> 4)...table[index + 1])
        }
        return text(result)
    }

    private static func text(_ ranges: [ClosedRange<UInt32>]) -> String {
        var result = ""
        func add(_ first: UInt32, _ last: UInt32) {
            if first > last { return }
            result += "\\x{\(String(first, radix: 16))}"
            if last > first { result += "-\\x{\(String(last, radix: 16))}" }
        }
        for range in ranges {
            // Surrogates cannot stand in a pattern.
            if range.lowerBound < 0xD800, range.upperBound >= 0xD800 {
                add(range.lowerBound, 0xD7FF)
                add(0xE000, range.upperBound)
            } else if range.lowerBound >= 0xD800, range.lowerBound < 0xE000 {
                add(0xE000, range.upperBound)
            } else {
                add(range.lowerBound, range.upperBound)
            }
        }
        return result
    }
}
