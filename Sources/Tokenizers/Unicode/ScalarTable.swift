/// General class of a scalar as the reference's regex engine sees it (its Unicode version, not the system's).
enum GeneralClass: UInt8 {
    case other, uppercase, lowercase, titlecase, modifierLetter, otherLetter, mark, decimal, otherNumber
    case punctuation, symbol
}

/// What a scalar is, in the several senses that the components need; one 16-bit entry per scalar, built once.
struct ScalarTable: Sendable {
    static let shared = ScalarTable()

    static let classMask: UInt16 = 0x000F
    static let letter: UInt16 = 0x0010
    static let number: UInt16 = 0x0020
    static let word: UInt16 = 0x0040
    static let whitespace: UInt16 = 0x0080
    static let punctuation: UInt16 = 0x0100
    static let numeric: UInt16 = 0x0200
    static let accent: UInt16 = 0x0400
    static let nonspacingMark: UInt16 = 0x0800
    static let bertControl: UInt16 = 0x1000
    static let bertIdeograph: UInt16 = 0x2000

    private let entries: [UInt16]

    @inline(__always)
    subscript(scalar: UInt32) -> UInt16 {
        entries.withUnsafeBufferPointer { scalar < 0x110000 ? $0[Int(scalar)] : 0 }
    }

    @inline(__always)
    func has(_ flag: UInt16, _ scalar: UInt32) -> Bool { self[scalar] & flag != 0 }

    /// `\w` of the Whitespace pre-tokenizer and of `single_word`: unlike the regex engine's it has the joiners and
    /// not the superscript digits and fractions of Latin-1.
    @inline(__always)
    func isRustWord(_ scalar: UInt32) -> Bool {
        switch scalar {
        case 0xB2, 0xB3, 0xB9, 0xBC, 0xBD, 0xBE: false
        case 0x200C, 0x200D: true
        default: has(Self.word, scalar)
        }
    }

    private init() {
        entries = Array(unsafeUninitializedCapacity: 0x110000) { buffer, count in
            count = 0x110000
            let runs = UnicodeTables.generalClassRuns
            for (index, run) in runs.enumerated() {
                let first = Int(run >> 4)
                let end = index + 1 < runs.count ? Int(runs[index + 1] >> 4) : 0x110000
                var value = UInt16(run & 0xF)
                switch GeneralClass(rawValue: UInt8(value)) {
                case .uppercase, .lowercase, .titlecase, .modifierLetter, .otherLetter: value |= Self.letter | Self.word
                case .mark: value |= Self.word
                case .decimal: value |= Self.number | Self.word
                case .otherNumber: value |= Self.number
                default: break
                }
                UnsafeMutableBufferPointer(rebasing: buffer[first..<end]).initialize(repeating: value)
            }
            func set(_ flag: UInt16, _ ranges: [UInt32]) {
                for pair in stride(from: 0, to: ranges.count - 1, by: 2) {
                    for scalar in Int(ranges[pair])...Int(ranges[pair + 1]) { buffer[scalar] |= flag }
                }
            }
            set(Self.word, UnicodeTables.wordExtra)
            set(Self.whitespace, UnicodeTables.whitespace)
            set(Self.punctuation, UnicodeTables.punctuation)
            set(Self.numeric, UnicodeTables.numeric)
            set(Self.accent, UnicodeTables.accents)
            set(Self.nonspacingMark, UnicodeTables.nonspacingMarks)
            set(Self.bertControl, UnicodeTables.bertControl)
            set(Self.bertIdeograph, UnicodeTables.bertIdeographs)
        }
    }
}

/// Scripts, with kana counted as Han.
struct ScriptTable {
    /// The script number of a scalar, 0 for unassigned ones. 2 is Han.
    static func script(of scalar: UInt32) -> UInt8 {
        let runs = UnicodeTables.scriptRuns
        var low = 0
        var high = runs.count
        while high - low > 1 {
            let middle = (low + high) / 2
            if runs[middle] >> 8 <= scalar { low = middle } else { high = middle }
        }
        return UInt8(truncatingIfNeeded: runs[low])
    }

    static let han: UInt8 = 2
}
