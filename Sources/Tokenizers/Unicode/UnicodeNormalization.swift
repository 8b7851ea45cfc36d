import CUtf8proc

/// A scalar of a new text and what it does to the old one: 0 replaces one scalar, above 0 is inserted, `-n` replaces
/// one scalar and removes the `n` after it.
struct ScalarChange: Sendable {
    var scalar: UInt32
    var change: Int32
}

/// NFD, NFKD, NFC, NFKC (UAX #15) with the record of changes that offsets need. The reference's table is Unicode 11:
/// scalars assigned later have no decomposition and combining class 0.
enum UnicodeNormalization {
    private static func isKnown(_ scalar: UInt32) -> Bool {
        if scalar < 0x0870 { return true }
        guard let age = Unicode.Scalar(scalar)?.properties.age else { return false }
        return age.major <= 11
    }

    static func combiningClass(_ scalar: UInt32) -> UInt16 {
        if scalar < 0x300 { return 0 }
        let combining = utf8proc_get_property(Int32(bitPattern: scalar)).pointee.combining_class
        return combining == 0 || isKnown(scalar) ? UInt16(truncatingIfNeeded: combining) : 0
    }

    static func decompose(_ scalars: [UInt32], compatibility: Bool) -> [ScalarChange] {
        var result: [ScalarChange] = []
        result.reserveCapacity(scalars.count + scalars.count / 4)
        let options = UInt32(UTF8PROC_DECOMPOSE.rawValue) | (compatibility ? UInt32(UTF8PROC_COMPAT.rawValue) : 0)
        let option = utf8proc_option_t(options)
        // Start of the run of combining marks at the end of `result`, which is sorted when it ends.
        var runStart = 0
        func sortRun() {
            guard result.count - runStart > 1 else { return }
            let run = result[runStart...].enumerated().sorted {
                let (a, b) = (combiningClass($0.element.scalar), combiningClass($1.element.scalar))
                return a == b ? $0.offset < $1.offset : a < b
            }
            result.replaceSubrange(runStart..., with: run.map(\.element))
        }
        withUnsafeTemporaryAllocation(of: Int32.self, capacity: 32) { buffer in
            for scalar in scalars {
                var count = 1
                buffer[0] = Int32(bitPattern: scalar)
                if scalar >= 0xA0 {
                    var lastClass: Int32 = 0
                    let written = utf8proc_decompose_char(
                        Int32(bitPattern: scalar), buffer.baseAddress, buffer.count, option, &lastClass)
                    let changed = written != 1 || buffer[0] != Int32(bitPattern: scalar)
                    if written >= 1, written <= buffer.count, !changed || isKnown(scalar) {
                        count = written
                    } else {
                        buffer[0] = Int32(bitPattern: scalar)
                    }
                }
                for index in 0..<count {
                    let part = UInt32(bitPattern: buffer[index])
                    if combiningClass(part) == 0 {
                        sortRun()
                        result.append(ScalarChange(scalar: part, change: index == 0 ? 0 : 1))
                        runStart = result.count
                    } else {
                        result.append(ScalarChange(scalar: part, change: index == 0 ? 0 : 1))
                    }
                }
            }
        }
        sortRun()
        return result
    }

    /// The primary composite of two scalars.
    static func composite(_ first: UInt32, _ second: UInt32) -> UInt32? {
        if second < 0x300 { return nil }
        return withUnsafeTemporaryAllocation(of: Int32.self, capacity: 4) { buffer in
            buffer[0] = Int32(bitPattern: first)
            buffer[1] = Int32(bitPattern: second)
            let options = UInt32(UTF8PROC_COMPOSE.rawValue) | UInt32(UTF8PROC_STABLE.rawValue)
            let count = utf8proc_normalize_utf32(buffer.baseAddress, 2, utf8proc_option_t(options))
            guard count == 1 else { return nil }
            let scalar = UInt32(bitPattern: buffer[0])
            return isKnown(scalar) ? scalar : nil
        }
    }

    /// Composes a decomposed text. A composite carries the sum of the changes of its parts.
    static func compose(_ parts: [ScalarChange]) -> [ScalarChange] {
        var result: [ScalarChange] = []
        result.reserveCapacity(parts.count)
        var starter: Int?  // index in `result` of the scalar that may still compose
        var lastClass: UInt16?  // class of the last mark that stayed behind the starter
        for part in parts {
            let partClass = combiningClass(part.scalar)
            guard let index = starter else {
                if partClass == 0 { starter = result.count }
                result.append(part)
                continue
            }
            let blocked = lastClass.map { $0 >= partClass } ?? false
            if !blocked, let scalar = composite(result[index].scalar, part.scalar) {
                result[index] = ScalarChange(scalar: scalar, change: result[index].change + part.change - 1)
                continue
            }
            if partClass == 0 {
                starter = result.count
                lastClass = nil
            } else {
                lastClass = partClass
            }
            result.append(part)
        }
        return result
    }
}
