import Testing

@testable import Tasks

@Suite struct StopMatcherTests {
    /// What is shown of pieces that come one by one, and whether the text was stopped.
    private func shown(_ pieces: [String], _ stops: [String]) -> (pieces: [String], rest: String, hasStopped: Bool) {
        var matcher = StopMatcher(stops)
        let shown = pieces.map { matcher.push($0) }
        return (shown, matcher.finish(), matcher.hasStopped)
    }

    @Test func noPartOfAStopStringIsShown() {
        let result = shown(["Hello", " wor", "ld\n", "\nUs", "er: no"], ["\n\nUser:"])
        #expect(result.pieces == ["Hello", " wor", "ld", "", ""])
        #expect(result.rest == "" && result.hasStopped)
    }

    @Test func whatTurnsOutToBeNoStopIsShownLater() {
        let result = shown(["a\n", "\nb", "\n"], ["\n\nc"])
        #expect(result.pieces == ["a", "\n\nb", ""])
        #expect(result.rest == "\n" && !result.hasStopped)
    }

    @Test func theEarliestMatchWins() {
        let result = shown(["one two three"], ["three", "two"])
        #expect(result.pieces == ["one "] && result.hasStopped)
    }

    @Test func repeatedStartsAreSeen() {
        // A match that begins inside a failed one.
        let result = shown(["aa", "ab", "x"], ["aab"])
        #expect(result.pieces.joined() == "a" && result.hasStopped)
    }

    @Test func charactersStayWhole() {
        // The stop string shares its first bytes with another character.
        let result = shown(["caf\u{E8}"], ["\u{E9}"])
        #expect(result.pieces.joined() + result.rest == "caf\u{E8}" && !result.hasStopped)
    }

    @Test func canonicallyEquivalentTextIsNotTheStopString() {
        #expect(!shown(["e\u{301}"], ["\u{E9}"]).hasStopped)
        #expect(shown(["\u{E9}"], ["\u{E9}"]).hasStopped)
    }

    @Test func anEmptyStopStringStopsNothing() {
        #expect(shown(["abc"], [""]).pieces == ["abc"])
    }
}
