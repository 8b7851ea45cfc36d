/// Work on UTF-8 bytes and scalars without `String` or `Character`.
enum UTF8Bytes {
    /// The scalar that starts at `index`, and its length in bytes. Never reads outside `bytes`; an invalid or cut-off
    /// sequence gives U+FFFD and length 1.
    @inline(__always)
    static func scalar(_ bytes: UnsafeBufferPointer<UInt8>, at index: Int) -> (scalar: UInt32, length: Int) {
        guard let base = bytes.baseAddress, index >= 0, index < bytes.count else { return (0xFFFD, 1) }
        let p = base + index
        let first = UInt32(p[0])
        if first < 0x80 { return (first, 1) }
        let left = bytes.count - index
        if first >= 0xC2, first < 0xE0, left >= 2, p[1] & 0xC0 == 0x80 {
            return ((first & 0x1F) << 6 | UInt32(p[1] & 0x3F), 2)
        }
        if first >= 0xE0, first < 0xF0, left >= 3, p[1] & 0xC0 == 0x80, p[2] & 0xC0 == 0x80 {
            let scalar = (first & 0x0F) << 12 | UInt32(p[1] & 0x3F) << 6 | UInt32(p[2] & 0x3F)
            return scalar < 0x800 || (scalar >= 0xD800 && scalar < 0xE000) ? (0xFFFD, 1) : (scalar, 3)
        }
        if first >= 0xF0, first < 0xF5, left >= 4, p[1] & 0xC0 == 0x80, p[2] & 0xC0 == 0x80, p[3] & 0xC0 == 0x80 {
            let high = (first & 0x07) << 18 | UInt32(p[1] & 0x3F) << 12
            let scalar = high | UInt32(p[2] & 0x3F) << 6 | UInt32(p[3] & 0x3F)
            return scalar < 0x10000 || scalar > 0x10FFFF ? (0xFFFD, 1) : (scalar, 4)
        }
        return (0xFFFD, 1)
    }

    /// The last scalar that ends at `end` (exclusive), and its length in bytes. `end` must be above 0.
    @inline(__always)
    static func scalar(_ bytes: UnsafeBufferPointer<UInt8>, before end: Int) -> (scalar: UInt32, length: Int) {
        var start = end - 1
        while start > 0, end - start < 4, bytes[start] & 0xC0 == 0x80 { start -= 1 }
        let found = scalar(bytes, at: start)
        return found.length == end - start ? found : (0xFFFD, 1)
    }

    /// Appends the UTF-8 form of a scalar.
    @inline(__always)
    static func append(_ scalar: UInt32, to bytes: inout [UInt8]) {
        if scalar < 0x80 {
            bytes.append(UInt8(truncatingIfNeeded: scalar))
        } else if scalar < 0x800 {
            bytes.append(UInt8(truncatingIfNeeded: 0xC0 | scalar >> 6))
            bytes.append(UInt8(truncatingIfNeeded: 0x80 | scalar & 0x3F))
        } else if scalar < 0x10000 {
            bytes.append(UInt8(truncatingIfNeeded: 0xE0 | scalar >> 12))
            bytes.append(UInt8(truncatingIfNeeded: 0x80 | scalar >> 6 & 0x3F))
            bytes.append(UInt8(truncatingIfNeeded: 0x80 | scalar & 0x3F))
        } else {
            bytes.append(UInt8(truncatingIfNeeded: 0xF0 | scalar >> 18 & 0x07))
            bytes.append(UInt8(truncatingIfNeeded: 0x80 | scalar >> 12 & 0x3F))
            bytes.append(UInt8(truncatingIfNeeded: 0x80 | scalar >> 6 & 0x3F))
            bytes.append(UInt8(truncatingIfNeeded: 0x80 | scalar & 0x3F))
        }
    }

    @inline(__always)
    static func length(of scalar: UInt32) -> Int {
        scalar < 0x80 ? 1 : scalar < 0x800 ? 2 : scalar < 0x10000 ? 3 : 4
    }

    static func scalars(_ bytes: [UInt8]) -> [UInt32] {
        bytes.withUnsafeBufferPointer { buffer in
            var scalars: [UInt32] = []
            scalars.reserveCapacity(buffer.count)
            var index = 0
            while index < buffer.count {
                let (scalar, length) = scalar(buffer, at: index)
                scalars.append(scalar)
                index += length
            }
            return scalars
        }
    }

    static func isASCII(_ bytes: UnsafeBufferPointer<UInt8>) -> Bool {
        let raw = UnsafeRawBufferPointer(bytes)
        var index = 0
        while index + 8 <= raw.count {
            if raw.loadUnaligned(fromByteOffset: index, as: UInt64.self) & 0x8080_8080_8080_8080 != 0 { return false }
            index += 8
        }
        while index < raw.count {
            if raw[index] >= 0x80 { return false }
            index += 1
        }
        return true
    }

    /// The offset of the first byte that is not valid UTF-8 (Unicode, table 3-7), or nil.
    static func firstInvalid(_ bytes: UnsafeBufferPointer<UInt8>) -> Int? {
        let raw = UnsafeRawBufferPointer(bytes)
        var index = 0
        while index < raw.count {
            if index + 8 <= raw.count,
                raw.loadUnaligned(fromByteOffset: index, as: UInt64.self) & 0x8080_8080_8080_8080 == 0
            {
                index += 8
                continue
            }
            if raw[index] < 0x80 {
                index += 1
                continue
            }
            let (_, length) = scalar(bytes, at: index)
            if length == 1 { return index }
            index += length
        }
        return nil
    }

    /// Copies bytes, with one U+FFFD in place of each maximal invalid subpart. This is the policy for text from
    /// outside that is not valid UTF-8; offsets then refer to the repaired text.
    static func repaired(_ bytes: UnsafeBufferPointer<UInt8>) -> [UInt8] {
        var decoder = LossyDecoder()
        var output: [UInt8] = []
        output.reserveCapacity(bytes.count)
        for byte in bytes { decoder.push(byte, into: &output) }
        decoder.finish(into: &output)
        return output
    }
}

/// Turns bytes into valid UTF-8, one byte at a time: an incomplete sequence is held back, and each maximal invalid
/// subpart (Unicode, table 3-7) becomes one U+FFFD as soon as it cannot be completed.
struct LossyDecoder: Sendable {
    private var held: (UInt8, UInt8, UInt8) = (0, 0, 0)
    private var heldCount = 0
    private var needed = 0
    private var low: UInt8 = 0x80
    private var high: UInt8 = 0xBF

    mutating func push(_ byte: UInt8, into output: inout [UInt8]) {
        if heldCount > 0 {
            if byte >= low, byte <= high {
                if heldCount + 1 == needed {
                    output.append(held.0)
                    if heldCount > 1 { output.append(held.1) }
                    if heldCount > 2 { output.append(held.2) }
                    output.append(byte)
                    heldCount = 0
                } else {
                    if heldCount == 1 { held.1 = byte } else { held.2 = byte }
                    heldCount += 1
                    low = 0x80
                    high = 0xBF
                }
                return
            }
            finish(into: &output)
        }
        switch byte {
        case 0..<0x80:
            output.append(byte)
            return
        case 0xC2...0xDF: (needed, low, high) = (2, 0x80, 0xBF)
        case 0xE0: (needed, low, high) = (3, 0xA0, 0xBF)
        case 0xED: (needed, low, high) = (3, 0x80, 0x9F)
        case 0xE1...0xEF: (needed, low, high) = (3, 0x80, 0xBF)
        case 0xF0: (needed, low, high) = (4, 0x90, 0xBF)
        case 0xF4: (needed, low, high) = (4, 0x80, 0x8F)
        case 0xF1...0xF3: (needed, low, high) = (4, 0x80, 0xBF)
        default:
            output.append(contentsOf: [0xEF, 0xBF, 0xBD])
            return
        }
        held.0 = byte
        heldCount = 1
    }

    /// The end of the bytes: what is held back cannot be completed any more.
    mutating func finish(into output: inout [UInt8]) {
        if heldCount > 0 { output.append(contentsOf: [0xEF, 0xBF, 0xBD]) }
        heldCount = 0
    }
}
