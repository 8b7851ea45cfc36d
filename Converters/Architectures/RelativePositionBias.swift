import Foundation
import GraphIR
import Operators
import Tensors

/// The distances between query and key that share one learned bias (Raffel et al., 2020, "Exploring the Limits of Transfer
/// Learning", section 2.1).
struct RelativePositionBuckets: Sendable, Hashable {
    let count: Int
    /// All distances from here on share the last bucket.
    let maximumDistance: Int
    /// Half of the buckets are for keys behind the query; otherwise those share the bucket of distance 0.
    let isBidirectional: Bool

    /// MPNet's, whatever its configuration says.
    static let mpnet = RelativePositionBuckets(count: 32, maximumDistance: 128, isBidirectional: true)

    /// Buckets for one direction, and how many of them are for one distance each.
    private var directed: Int { isBidirectional ? count / 2 : count }
    private var exact: Int { directed / 2 }

    /// What the formula needs.
    var isValid: Bool { exact >= 1 && maximumDistance > exact }

    /// The bucket of the distance `key - query`: exact for the first half, then logarithmically wider ones.
    func bucket(_ distance: Int) -> Int {
        let n = min(isBidirectional ? abs(distance) : max(-distance, 0), maximumDistance)
        var bucket = n
        if n >= exact {
            // In f32, as the reference implementation has it: a distance on the edge of a bucket depends on the rounding.
            let share = Float(log(Float(n) / Float(exact))) / Float(log(Double(maximumDistance) / Double(exact)))
            bucket = min(exact + Int(share * Float(directed - exact)), directed - 1)
        }
        return isBidirectional && distance > 0 ? directed + bucket : bucket
    }
}

extension ModelBuilder {
    /// f32 `[1, heads, sequence, sequence]`, added to attention scores: row i, column j has the learned bias of the distance j - i.
    ///
    /// - Parameters:
    ///   - tokens: `[batch, sequence]`.
    ///   - rows: Of the table of biases, `[rows, heads]`.
    mutating func relativePositionBias(
        _ tokens: ValueID, _ name: String, _ buckets: RelativePositionBuckets, rows: Int, heads: Int
    ) throws -> ValueID {
        let limit = buckets.maximumDistance
        let numbers = (-limit...limit).map { Int64(buckets.bucket($0)) }
        let distances = graph.constant(try Tensor(integers: numbers, shape: [numbers.count]), name: "\(name).buckets")
        let weight = try weight("\(name).weight", [rows, heads])
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
