import GraphIR
import Operators
import Tensors

/// Queries, keys and values of the new tokens, each `[batch, sequence, heads, width]`.
struct AttentionOperands {
    var query: ValueID
    var key: ValueID
    var value: ValueID
}

/// How one layer attends.
struct AttentionForm: Sendable {
    /// What scores are multiplied by.
    var scale: Float
    /// Positions that a query sees, its own included; 0 for all.
    var window = 0
    /// The bound that scores are pressed under; 0 for none.
    var softcap: Float = 0
    /// nil: positions are none of attention's business.
    var rotary: RotaryConfiguration?
}

extension DecoderBuilder {
    /// Three projections with matrices of their own.
    mutating func separateOperands(_ x: ValueID, _ query: String, _ key: String, _ value: String, hasBias: Bool) throws -> AttentionOperands {
        let (heads, shared, width) = (configuration.headCount, configuration.keyValueHeadCount, configuration.headSize)
        return AttentionOperands(
            query: try split(try linear(x, query, to: heads * width, hasBias: hasBias), heads, query),
            key: try split(try linear(x, key, to: shared * width, hasBias: hasBias), shared, key),
            value: try split(try linear(x, value, to: shared * width, hasBias: hasBias), shared, value))
    }

    /// The result of one projection, `[batch, sequence, (heads + 2 kv_heads) * width]`: all queries, then all keys, then all values.
    mutating func packedOperands(_ packed: ValueID, _ name: String) throws -> AttentionOperands {
        let (heads, shared) = (configuration.headCount, configuration.keyValueHeadCount)
        let all = try split(packed, heads + 2 * shared, name)
        return AttentionOperands(
            query: try slice(all, 2, 0..<heads, name), key: try slice(all, 2, heads..<heads + shared, name),
            value: try slice(all, 2, heads + shared..<heads + 2 * shared, name))
    }

    /// As `packedOperands`, but query, key and value of one head stand together.
    mutating func packedOperandsByHead(_ packed: ValueID, _ name: String) throws -> AttentionOperands {
        let (heads, width) = (configuration.headCount, configuration.headSize)
        let all = try reshape(packed, Array(graph.type(packed).dims[..<2]) + [.fixed(heads), .fixed(3 * width)], name)
        return AttentionOperands(
            query: try slice(all, 3, 0..<width, name), key: try slice(all, 3, width..<2 * width, name),
            value: try slice(all, 3, 2 * width..<3 * width, name))
    }

    /// Attention of the new tokens to themselves and to what the cache holds: `[batch, sequence, heads * width]`.
    mutating func attention(_ operands: AttentionOperands, _ inputs: DecoderInputs, layer: Int, _ form: AttentionForm, _ name: String) throws -> ValueID {
        var operands = operands
        if let rotary = form.rotary {
            operands.query = try rotate(operands.query, rotary, inputs, name)
            operands.key = try rotate(operands.key, rotary, inputs, name)
        }
        let op = CachedAttention(slot: layer, scale: form.scale, window: form.window, softcap: form.softcap)
        let context = try graph.apply(op, operands.query, operands.key, operands.value, inputs.mask, name: name)
        let width = configuration.headCount * configuration.headSize
        return try reshape(context, Array(graph.type(context).dims[..<2]) + [.fixed(width)], name)
    }

    /// `[batch, sequence, heads * width]` as `[batch, sequence, heads, width]`.
    private mutating func split(_ x: ValueID, _ heads: Int, _ name: String) throws -> ValueID {
        try reshape(x, Array(graph.type(x).dims[..<2]) + [.fixed(heads), .fixed(configuration.headSize)], name)
    }
}

extension ModelBuilder {
    /// A part of x along one axis.
    mutating func slice(_ x: ValueID, _ axis: Int, _ range: Range<Int>, _ name: String) throws -> ValueID {
        let (start, end) = (try graph.integers([range.lowerBound]), try graph.integers([range.upperBound]))
        return try graph.apply(Slice(axes: [axis]), x, start, end, name: name)
    }
}
