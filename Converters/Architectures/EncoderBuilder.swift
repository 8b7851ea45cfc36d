import GraphIR
import Operators
import Tensors

/// Writes the graph of one encoder: the graph so far, the checkpoint's tensors, and the parts that architectures share (in
/// extensions, one file each).
///
/// A part's `name` is the path of a module in the reference implementation; `name.weight` and `name.bias` are its tensors.
public struct EncoderBuilder {
    public internal(set) var graph: GraphBuilder
    public internal(set) var weights: WeightLoader
    let configuration: EncoderConfiguration

    public init(name: String, weights: WeightLoader, configuration: EncoderConfiguration) {
        graph = GraphBuilder(name: name)
        self.weights = weights
        self.configuration = configuration
    }

    mutating func weight(_ name: String, _ shape: [Int], _ part: WeightLoader.Part = .base) throws -> ValueID {
        try weights.value(name, shape, part, in: &graph)
    }

    /// `activation(x W^T + b)`; the input width is that of x.
    mutating func linear(
        _ x: ValueID, _ name: String, to width: Int, _ activation: Activation = .none, _ part: WeightLoader.Part = .base
    ) throws -> ValueID {
        let weight = try weight("\(name).weight", [width, innerWidth(x)], part)
        let bias = try self.weight("\(name).bias", [width], part)
        return try graph.apply(Linear(layout: .output_input, activation: activation), x, weight, bias, name: name)
    }

    /// Layer normalisation of the last dimension, of `x + residual` where there is one.
    mutating func norm(
        _ x: ValueID, _ name: String, residual: ValueID? = nil, _ part: WeightLoader.Part = .base, output: String? = nil
    ) throws -> ValueID {
        let width = innerWidth(x)
        let scale = try weight("\(name).weight", [width], part)
        let bias = try weight("\(name).bias", [width], part)
        let op = LayerNorm(epsilon: configuration.normEpsilon)
        guard let residual else { return try graph.apply(op, x, scale, bias, name: name, output: output) }
        return try graph.apply(op, x, scale, bias, residual, name: name, output: output)
    }

    /// The state of the first token, `[batch, width]`, of `[batch, sequence, width]`.
    mutating func firstToken(_ hidden: ValueID) throws -> ValueID {
        try graph.apply(Gather(axis: 1), hidden, try graph.scalar(0, .i64), name: "first_token")
    }

    /// The last dimension of a value whose last dimension is a number, as all hidden states have it.
    private func innerWidth(_ x: ValueID) -> Int { graph.type(x).dims.last?.fixedValue ?? 0 }
}
