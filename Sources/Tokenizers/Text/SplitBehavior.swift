/// A stretch of a text, and whether the pattern matched it. Matches cover the whole text, in order.
struct Match: Sendable, Equatable {
    var start: Int
    var end: Int
    var isMatch: Bool

    @inline(__always)
    init(_ start: Int, _ end: Int, _ isMatch: Bool) {
        self.start = start
        self.end = end
        self.isMatch = isMatch
    }
}

/// What becomes of the delimiters when a text is split.
enum SplitBehavior: String, Sendable {
    case removed = "Removed"
    case isolated = "Isolated"
    case mergedWithPrevious = "MergedWithPrevious"
    case mergedWithNext = "MergedWithNext"
    case contiguous = "Contiguous"

    func apply(to matches: [Match], _ keep: (_ start: Int, _ end: Int) -> Void) {
        switch self {
        case .removed:
            for match in matches where !match.isMatch { keep(match.start, match.end) }
        case .isolated:
            for match in matches { keep(match.start, match.end) }
        case .contiguous:
            merge(matches, keep) { $0 == $1 }
        case .mergedWithPrevious:
            merge(matches, keep) { isMatch, previous in isMatch && !previous }
        case .mergedWithNext:
            // A delimiter that stands before a piece joins it; of several delimiters only the last one does.
            var index = 0
            while index < matches.count {
                let match = matches[index]
                if match.isMatch, index + 1 < matches.count, !matches[index + 1].isMatch {
                    keep(match.start, matches[index + 1].end)
                    index += 2
                } else {
                    keep(match.start, match.end)
                    index += 1
                }
            }
        }
    }

    /// Appends a match to the one before it where `joins(isMatch, previousWasMatch)`; before the first one stands no match.
    private func merge(_ matches: [Match], _ keep: (Int, Int) -> Void, _ joins: (Bool, Bool) -> Bool) {
        var start = 0
        var end = 0
        var isOpen = false
        var previous = false
        for match in matches {
            if isOpen, joins(match.isMatch, previous) {
                end = match.end
            } else {
                if isOpen { keep(start, end) }
                (start, end, isOpen) = (match.start, match.end, true)
            }
            previous = match.isMatch
        }
        if isOpen { keep(start, end) }
    }
}
