/// Finds stop strings in text that comes in pieces, and holds back what may turn out to be the start of one. Compares bytes, so that a stop
/// string matches as it is written.
struct StopMatcher {
    private let stops: [[UInt8]]
    private var held: [UInt8] = []
    /// True once a stop string was met; everything behind it is dropped.
    private(set) var hasStopped = false

    init(_ stops: [String]) { self.stops = stops.map { Array($0.utf8) }.filter { !$0.isEmpty } }

    /// The text that can be shown now.
    mutating func push(_ text: String) -> String {
        guard !hasStopped else { return "" }
        guard !stops.isEmpty else { return text }
        held += text.utf8
        // The earliest match; of several at one place any gives the same text.
        var match: Int?
        for stop in stops {
            if let place = Self.find(stop, in: held), place < match ?? .max { match = place }
        }
        if let match {
            hasStopped = true
            defer { held = [] }
            return String(decoding: held[..<match], as: UTF8.self)
        }
        var kept = 0
        for stop in stops {
            let longest = min(stop.count - 1, held.count)
            if longest > kept, let count = (kept + 1...longest).reversed().first(where: { held.suffix($0).elementsEqual(stop.prefix($0)) }) {
                kept = count
            }
        }
        // A stop string may begin inside a character of several bytes only if it is no text; cut at characters all the same.
        var end = held.count - kept
        while end > 0, end < held.count, held[end] & 0xC0 == 0x80 { end -= 1 }
        defer { held.removeSubrange(..<end) }
        return String(decoding: held[..<end], as: UTF8.self)
    }

    /// What was held back, at the end of the text.
    mutating func finish() -> String {
        defer { held = [] }
        return hasStopped ? "" : String(decoding: held, as: UTF8.self)
    }

    private static func find(_ pattern: [UInt8], in text: [UInt8]) -> Int? {
        guard text.count >= pattern.count else { return nil }
        return (0...text.count - pattern.count).first { text[$0..<$0 + pattern.count].elementsEqual(pattern) }
    }
}
