import GraphIR
import Operators
import Tensors
import TestSupport

/// A BERT-like encoder with random weights, in the form that converters give: embeddings, masked attention, post-norm layers, mean
/// pooling over the real tokens.
struct EncoderGraph {
    var layers = 2
    var hidden = 32
    var heads = 4
    var intermediate = 64
    var vocabulary = 50
    var positions = 64

    func graph(seed: UInt64 = 1, layout: Linear.Layout = .output_input) throws -> Graph {
        var random = SeededRandom(seed: seed)
        var builder = GraphBuilder(name: "encoder")
        let symbolic: [Dim] = [.symbol("batch"), .symbol("sequence")]
        let ids = builder.input("input_ids", TensorType(.i64, symbolic))
        let mask = builder.input("attention_mask", TensorType(.i64, symbolic), default: .ones)

        func weight(_ shape: [Int], _ name: String, scale: Float = 0.1) throws -> ValueID {
            let count = try Shape.count(shape)
            let values = (0..<count).map { _ in Float.random(in: -scale...scale, using: &random) }
            return builder.constant(try Tensor(floats: values, shape: shape), name: name)
        }
        func norm(_ x: ValueID, _ residual: ValueID?, _ name: String) throws -> ValueID {
            try builder.apply(
                LayerNorm(epsilon: 1e-12), x, weight([hidden], name + ".scale", scale: 1), weight([hidden], name + ".bias"), residual)
        }
        func linear(_ x: ValueID, _ input: Int, _ output: Int, _ name: String, _ activation: Activation = .none) throws -> ValueID {
            try builder.apply(
                Linear(layout: layout, activation: activation), x,
                weight(layout == .output_input ? [output, input] : [input, output], name + ".weight"),
                weight([output], name + ".bias"))
        }
        let words = try builder.apply(Gather(axis: 0), weight([vocabulary, hidden], "words", scale: 1), ids)
        let shape = try builder.apply(ShapeOf(), ids)
        let length = try builder.apply(Gather(axis: 0), shape, builder.scalar(1, .i64))
        let places = try builder.apply(Arange(), builder.scalar(0, .i64), length, builder.scalar(1, .i64))
        let position = try builder.apply(Gather(axis: 0), weight([positions, hidden], "positions", scale: 1), places)
        var x = try norm(builder.apply(Binary(.add), words, position), nil, "embeddings")

        let isReal = try builder.apply(Cast(to: .bool), mask)
        let attended = try builder.apply(ExpandDims(axes: [1, 2]), isReal)
        let split = try builder.integers([0, 0, heads, hidden / heads])
        let merged = try builder.integers([0, 0, hidden])
        for layer in 0..<layers {
            func project(_ name: String) throws -> ValueID {
                let rows = try builder.apply(Reshape(zeroCopies: true), linear(x, hidden, hidden, "\(layer).\(name)"), split)
                return try builder.apply(Transpose(permutation: [0, 2, 1, 3]), rows)
            }
            let context = try builder.apply(
                ScaledDotProductAttention(scale: 1 / Float(hidden / heads).squareRoot()), project("query"), project("key"),
                project("value"), attended)
            let joined = try builder.apply(
                Reshape(zeroCopies: true), builder.apply(Transpose(permutation: [0, 2, 1, 3]), context), merged)
            x = try norm(linear(joined, hidden, hidden, "\(layer).output"), x, "\(layer).attention_norm")
            let inner = try linear(x, hidden, intermediate, "\(layer).up", .gelu)
            x = try norm(linear(inner, intermediate, hidden, "\(layer).down"), x, "\(layer).norm")
        }
        builder.output("last_hidden_state", x)
        let weights = try builder.apply(ExpandDims(axes: [2]), builder.apply(Cast(to: .f32), mask))
        let sum = try builder.apply(Reduce(.sum, axes: [1], keepDims: false), builder.apply(Binary(.mul), x, weights))
        let count = try builder.apply(Reduce(.sum, axes: [1], keepDims: false), weights)
        builder.output("embedding", try builder.apply(Binary(.div), sum, count))
        return builder.graph
    }

    /// Ids of the given lengths, padded with 0 to the longest, and their mask.
    func inputs(lengths: [Int], seed: UInt64 = 7) throws -> [String: Tensor] {
        var random = SeededRandom(seed: seed)
        let width = lengths.max() ?? 0
        var ids: [Int64] = []
        var mask: [Int64] = []
        for length in lengths {
            for place in 0..<width {
                ids.append(place < length ? Int64.random(in: 1..<Int64(vocabulary), using: &random) : 0)
                mask.append(place < length ? 1 : 0)
            }
        }
        return [
            "input_ids": try Tensor(integers: ids, shape: [lengths.count, width]),
            "attention_mask": try Tensor(integers: mask, shape: [lengths.count, width]),
        ]
    }
}
