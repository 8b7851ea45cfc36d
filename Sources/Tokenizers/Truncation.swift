/// How to shorten encodings that are too long.
public struct Truncation: Sendable, Equatable {
    /// Which of two sequences gives way.
    public enum Strategy: String, Sendable {
        /// The longer one, until both are equally long.
        case longestFirst
        case onlyFirst
        case onlySecond
    }

    /// The end that is cut off.
    public enum Direction: String, Sendable {
        case left
        case right
    }

    /// The number of tokens that may stay, special tokens included. Below the number of special tokens nothing is cut
    /// (as in the reference).
    public var maxLength: Int
    /// How many tokens an overflowing part repeats of the part before it.
    public var stride: Int
    public var strategy: Strategy
    public var direction: Direction
    /// Whether the parts that are cut off are given in `Encoding.overflowing`. With a pair their number can be the
    /// product of the lengths.
    public var keepsOverflowing: Bool

    public init(
        maxLength: Int, stride: Int = 0, strategy: Strategy = .longestFirst, direction: Direction = .right,
        keepsOverflowing: Bool = false
    ) {
        self.maxLength = maxLength
        self.stride = stride
        self.strategy = strategy
        self.direction = direction
        self.keepsOverflowing = keepsOverflowing
    }

    init(_ json: ComponentJSON) throws {
        maxLength = try json.count("max_length")
        stride = try json.optionalCount("stride") ?? 0
        keepsOverflowing = false
        switch json.value["strategy"]?.string ?? "LongestFirst" {
        case "LongestFirst": strategy = .longestFirst
        case "OnlyFirst": strategy = .onlyFirst
        case "OnlySecond": strategy = .onlySecond
        default: throw json.invalid("strategy", "expected LongestFirst, OnlyFirst or OnlySecond")
        }
        switch json.value["direction"]?.string ?? "Right" {
        case "Left": direction = .left
        case "Right": direction = .right
        default: throw json.invalid("direction", "expected Left or Right")
        }
    }

    /// Refuses a stride that does not fit between the special tokens of a single sequence.
    func check(addedTokenCount: Int) throws {
        guard maxLength >= 0, stride >= 0 else { throw TokenizerError.truncation(reason: "negative length or stride") }
        let room = maxLength - addedTokenCount
        if room >= 0, room < stride {
            throw TokenizerError.truncation(
                reason: "stride \(stride) does not fit into \(maxLength) tokens of which \(addedTokenCount) are special")
        }
    }

    /// Shortens one or two encodings to `room` tokens together.
    func apply(to encodings: inout [Encoding], room: Int) throws {
        if room == 0 {
            for index in encodings.indices { try encodings[index].truncate(to: 0, self) }
            return
        }
        let total = encodings.reduce(0) { $0 + $1.count }
        guard total > room else { return }
        switch strategy {
        case .longestFirst:
            guard encodings.count == 2 else {
                for index in encodings.indices { try encodings[index].truncate(to: room, self) }
                return
            }
            let isSwapped = encodings[0].count > encodings[1].count
            var short = min(encodings[0].count, encodings[1].count)
            var long = short > room ? short : max(short, room - short)
            if short + long > room {
                short = room / 2
                long = short + room % 2
            }
            try encodings[0].truncate(to: isSwapped ? long : short, self)
            try encodings[1].truncate(to: isSwapped ? short : long, self)
        case .onlyFirst, .onlySecond:
            let target = strategy == .onlyFirst ? 0 : 1
            guard target < encodings.count else {
                throw TokenizerError.truncation(reason: "only the second sequence may be cut, but there is none")
            }
            let kept = encodings[target].count - (total - room)
            guard kept > 0 else {
                throw TokenizerError.truncation(reason: "the sequence that may be cut is too short to reach \(room) tokens")
            }
            try encodings[target].truncate(to: kept, self)
        }
    }
}
