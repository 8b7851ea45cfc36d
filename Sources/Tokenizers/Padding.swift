/// How to fill encodings up to the same length.
public struct Padding: Sendable, Equatable {
    public enum Length: Sendable, Equatable {
        /// As long as the longest encoding of the batch.
        case longestInBatch
        case fixed(Int)
    }

    /// The end that is filled.
    public enum Direction: String, Sendable {
        case left
        case right
    }

    public var length: Length
    /// Lengths are rounded up to a multiple of this.
    public var multipleOf: Int?
    public var direction: Direction
    public var padID: Int
    public var padTypeID: Int
    public var padToken: String

    public init(
        length: Length = .longestInBatch, multipleOf: Int? = nil, direction: Direction = .right, padID: Int = 0,
        padTypeID: Int = 0, padToken: String = "[PAD]"
    ) {
        self.length = length
        self.multipleOf = multipleOf
        self.direction = direction
        self.padID = padID
        self.padTypeID = padTypeID
        self.padToken = padToken
    }

    /// More would be a mistake, or an attack on memory.
    private static let maximumLength = 1 << 20

    init(_ json: ComponentJSON) throws {
        guard let strategy = json.value["strategy"] else { throw json.invalid("strategy", "missing") }
        if strategy.string == "BatchLongest" {
            length = .longestInBatch
        } else if let fixed = strategy["Fixed"]?.int, fixed >= 0, fixed <= Int(Int32.max) {
            length = .fixed(fixed)
        } else {
            throw json.invalid("strategy", "expected \"BatchLongest\" or {\"Fixed\": length}")
        }
        switch json.value["direction"]?.string ?? "Right" {
        case "Left": direction = .left
        case "Right": direction = .right
        default: throw json.invalid("direction", "expected Left or Right")
        }
        multipleOf = try json.optionalCount("pad_to_multiple_of")
        padID = try json.count("pad_id")
        padTypeID = try json.optionalCount("pad_type_id") ?? 0
        padToken = try json.string("pad_token")
    }

    /// Fills the encodings and their overflowing parts.
    func apply(to encodings: inout [Encoding]) throws {
        guard let id = UInt32(exactly: padID), let typeID = UInt32(exactly: padTypeID) else {
            throw TokenizerError.input(reason: "pad id \(padID) or pad type id \(padTypeID) is not a 32-bit number")
        }
        var target: Int
        switch length {
        case .longestInBatch: target = encodings.map(\.count).max() ?? 0
        case .fixed(let length): target = length
        }
        if let multipleOf, multipleOf > 0, target % multipleOf != 0 {
            let (rounded, overflow) = target.addingReportingOverflow(multipleOf - target % multipleOf)
            target = overflow ? Int.max : rounded
        }
        guard target <= Self.maximumLength || target <= (encodings.map(\.count).max() ?? 0) else {
            throw TokenizerError.input(reason: "padding to \(target) tokens; at most \(Self.maximumLength) are possible")
        }
        let token = SpecialToken((Array(padToken.utf8), id))
        for index in encodings.indices { encodings[index].pad(to: target, token, typeID: typeID, direction) }
    }
}
