/// Looks for a text in another, byte by byte; UTF-8 makes that the same as by scalars.
struct TextSearch {
    private let interpreter: Interpreter
    /// Bytes compared that cost one step.
    private static let comparisonsPerStep = 64

    init(_ interpreter: Interpreter) { self.interpreter = interpreter }

    /// The byte position of the first occurrence at or behind `start`.
    func first(_ needle: String, in text: [UInt8], from start: Int = 0) throws -> Int? {
        let needle = Array(needle.utf8)
        guard start <= text.count, needle.count <= text.count - start else { return nil }
        guard let head = needle.first else { return start }
        var compared = 0
        for place in start...(text.count - needle.count) {
            compared += 1
            if text[place] == head {
                var length = 1
                while length < needle.count, text[place + length] == needle[length] { length += 1 }
                if length == needle.count { return place }
                compared += length
            }
            if compared >= Self.comparisonsPerStep {
                try interpreter.charge(compared / Self.comparisonsPerStep)
                compared = 0
            }
        }
        return nil
    }

    /// All byte positions, without overlap, of a needle that is not empty.
    func all(_ needle: String, in text: [UInt8], atMost limit: Int = .max) throws -> [Int] {
        var result: [Int] = []
        var start = 0
        while result.count < limit, let place = try first(needle, in: text, from: start) {
            try interpreter.charge()
            result.append(place)
            start = place + max(needle.utf8.count, 1)
        }
        return result
    }

    /// The byte position of the last occurrence.
    func last(_ needle: String, in text: [UInt8]) throws -> Int? {
        let needle = Array(needle.utf8)
        guard needle.count <= text.count else { return nil }
        var compared = 0
        for place in (0...(text.count - needle.count)).reversed() {
            compared += 1
            var length = 0
            while length < needle.count, text[place + length] == needle[length] { length += 1 }
            if length == needle.count { return place }
            compared += length
            if compared >= Self.comparisonsPerStep {
                try interpreter.charge(compared / Self.comparisonsPerStep)
                compared = 0
            }
        }
        return nil
    }

    /// Python's `str.replace`.
    func replace(_ text: String, _ old: String, _ new: String, _ count: Int?) throws -> String {
        let limit = count.map { $0 < 0 ? Int.max : $0 } ?? .max
        let places: [Int]
        let bytes = Array(text.utf8)
        if old.isEmpty {
            // Between all scalars, and at both ends.
            places = Array((bytes.indices.filter { bytes[$0] & 0xC0 != 0x80 } + [bytes.count]).prefix(limit))
            try interpreter.charge(places.count)
        } else {
            places = try all(old, in: bytes, atMost: limit)
        }
        let (added, overflow) = places.count.multipliedReportingOverflow(by: new.utf8.count)
        guard !overflow, bytes.count + added <= Interpreter.maximumBytes + old.utf8.count * places.count else { throw interpreter.tooLong() }
        var result: [UInt8] = []
        var start = 0
        for place in places {
            result += bytes[start..<place]
            result += new.utf8
            start = place + old.utf8.count
        }
        result += bytes[start...]
        return String(decoding: result, as: UTF8.self)
    }
}
