import GraphIR
import Operators
import Tensors

/// The distances between query and key that share one learned bias (Raffel et al., 2020, "Exploring the Limits of Transfer
/// Learning", section 2.1), in the form that MPNet has: 32 buckets, half of them for keys behind the query.
enum RelativePositionBuckets {
    static let count = 32
    /// All distances from here on share the last bucket.
    static let maximumDistance = 128

    /// The bucket of the distance `key - query`: exact up to 7, then two buckets for every doubling.
    static func bucket(_ distance: Int) -> Int {
        let half = count / 2
        let exact = half / 2
        let n = min(abs(distance), maximumDistance)
        // exact + floor(log(n / exact) / log(maximumDistance / exact) * exact) = exact + floor(2 log2(n / exact)), without rounding.
        let magnitude = n < exact ? n : min(half - 1, exact + ((n * n) / (exact * exact)).bitWidthOfValue - 1)
        return (distance > 0 ? half : 0) + magnitude
    }
}

extension Int {
    /// The number of binary digits of a positive number.
    fileprivate var bitWidthOfValue: Int { Int.bitWidth - leadingZeroBitCount }
}

extension EncoderBuilder {
    /// f32 `[1, heads, sequence, sequence]`, added to attention scores: row i, column j has the learned bias of the distance j - i.
    mutating func relativePositionBias(_ tokens: ValueID, _ name: String, bucketCount: Int) throws -> ValueID {
        let limit = RelativePositionBuckets.maximumDistance
        let buckets = (-limit...limit).map { Int64(RelativePositionBuckets.bucket($0)) }
        let distances = graph.constant(try Tensor(integers: buckets, shape: [buckets.count]), name: "\(name).buckets")
        let weight = try weight("\(name).weight", [bucketCount, configuration.headCount])
        let byDistance = try graph.apply(Gather(axis: 0), weight, distances, name: name)
        let table = try graph.apply(Transpose(permutation: [1, 0]), byDistance, name: name)

        let positions = try range(over: tokens, name: name)
        let keys = try graph.apply(ExpandDims(axes: [0]), positions, name: name)
        let queries = try graph.apply(ExpandDims(axes: [1]), positions, name: name)
        let distance = try graph.apply(Binary(.sub), keys, queries, name: name)
        let floored = try graph.apply(Binary(.max), distance, try graph.scalar(-Double(limit), .i64), name: name)
        let clamped = try graph.apply(Binary(.min), floored, try graph.scalar(Double(limit), .i64), name: name)
        let index = try graph.apply(Binary(.add), clamped, try graph.scalar(Double(limit), .i64), name: name)
        let bias = try graph.apply(Gather(axis: 1), table, index, name: name)
        return try graph.apply(ExpandDims(axes: [0]), bias, name: name, output: name)
    }
}
