import GraphIR
import Operators

/// How queries attend to keys that are all there at once, without a cache.
struct WholeAttention {
    let heads: Int
    /// Components of a head.
    let width: Int
    /// What scores are multiplied by.
    let scale: Float
    /// A query sees its own position and those before.
    var isCausal = false
}

extension ModelBuilder {
    /// Attention of queries `[batch, queries, heads * width]` to keys and values `[batch, keys, heads * width]`, shaped like the queries.
    ///
    /// - Parameter mask: Added to the scores, broadcast to `[batch, heads, queries, keys]`.
    mutating func attention(
        _ query: ValueID, _ key: ValueID, _ value: ValueID, mask: ValueID, _ form: WholeAttention, _ name: String
    ) throws -> ValueID {
        let op = ScaledDotProductAttention(scale: form.scale, isCausal: form.isCausal)
        let context = try graph.apply(
            op, try headsFirst(query, form, name), try headsFirst(key, form, name), try headsFirst(value, form, name), mask, name: name)
        let merged = try graph.apply(Transpose(permutation: [0, 2, 1, 3]), context, name: name)
        return try reshape(merged, Array(graph.type(merged).dims[..<2]) + [.fixed(form.heads * form.width)], name)
    }

    /// `[batch, sequence, heads * width]` as `[batch, heads, sequence, width]`.
    private mutating func headsFirst(_ x: ValueID, _ form: WholeAttention, _ name: String) throws -> ValueID {
        let dims = Array(graph.type(x).dims[..<2]) + [.fixed(form.heads), .fixed(form.width)]
        return try graph.apply(Transpose(permutation: [0, 2, 1, 3]), try reshape(x, dims, name), name: name)
    }

    /// f32 `[batch, 1, 1, sequence]`, added to scores, of an attention_mask `[batch, sequence]`.
    ///
    /// A key whose attention_mask is 0 gets the lowest finite score added, as in the reference implementation: it then has no weight, and a
    /// row that excludes every key attends to all of them alike instead of giving NaN.
    mutating func paddingMask(_ attention: ValueID) throws -> ValueID {
        let isKey = try graph.apply(Compare(.not_equal), attention, try graph.scalar(0, .i64), name: "mask")
        let broadcast = try graph.apply(ExpandDims(axes: [1, 2]), isKey, name: "mask")
        let lowest = try graph.scalar(-Double(Float.greatestFiniteMagnitude), .f32)
        return try graph.apply(Select(), broadcast, try graph.scalar(0, .f32), lowest, name: "mask", output: "mask")
    }
}
