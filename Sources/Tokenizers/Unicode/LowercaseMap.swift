import CUtf8proc

/// Lower case without context, as Rust's `char::to_lowercase`: one scalar, except for U+0130.
enum LowercaseMap {
    @inline(__always)
    static func lowercase(_ scalar: UInt32) -> UInt32 {
        if scalar < 0x80 { return scalar &- 0x41 < 26 ? scalar | 0x20 : scalar }
        let table = UnicodeTables.lowercaseDifferences
        if scalar >= 0x1C89 {
            var index = 0
            while index + 2 < table.count {
                if scalar >= table[index], scalar <= table[index + 1] { return scalar &+ table[index + 2] }
                index += 3
            }
        }
        return UInt32(bitPattern: utf8proc_tolower(Int32(bitPattern: scalar)))
    }
}
