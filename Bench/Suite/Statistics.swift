/// Order statistics of the rounds of one contestant.
public struct Statistics: Sendable, Hashable {
    public let sorted: [Double]

    /// - Returns: nil without values.
    public init?(_ values: [Double]) {
        guard !values.isEmpty, values.allSatisfy(\.isFinite) else { return nil }
        sorted = values.sorted()
    }

    public var minimum: Double { sorted[0] }
    public var maximum: Double { sorted[sorted.count - 1] }
    public var median: Double { quantile(0.5) }
    public var lowerQuartile: Double { quantile(0.25) }
    public var upperQuartile: Double { quantile(0.75) }

    /// Linear between the two nearest values (definition 7 of Hyndman and Fan, 1996).
    ///
    /// - Parameter share: From 0 to 1; others are clamped.
    public func quantile(_ share: Double) -> Double {
        let place = min(max(share, 0), 1) * Double(sorted.count - 1)
        let below = Int(place)
        let above = min(below + 1, sorted.count - 1)
        return sorted[below] + (sorted[above] - sorted[below]) * (place - Double(below))
    }

    /// `theirs / ours` round by round: a disturbance that meets both in one round cancels out.
    public static func ratios(of theirs: [Double], to ours: [Double]) -> Statistics? {
        Statistics(zip(theirs, ours).compactMap { $1 > 0 ? $0 / $1 : nil })
    }
}
