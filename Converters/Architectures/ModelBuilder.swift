import GraphIR
import Operators
import Tensors

/// The sizes that parts of every architecture need.
protocol ModelSizes: Sendable {
    var vocabularySize: Int { get }
    /// Components of a token's state between layers.
    var hiddenSize: Int { get }
    var normEpsilon: Float { get }
}

/// Writes the graph of one model: the graph so far, the checkpoint's tensors, and the parts that architectures share (in
/// extensions, one file each).
///
/// A part's `name` is the path of a module in the reference implementation; `name.weight` and `name.bias` are its tensors.
struct ModelBuilder<Configuration: ModelSizes> {
    var graph: GraphBuilder
    var weights: WeightLoader
    let configuration: Configuration
    /// The constants of rotary positions that were made, by their elements.
    var rotaryFrequencies: [[Float]: ValueID] = [:]

    init(name: String, weights: WeightLoader, configuration: Configuration) {
        graph = GraphBuilder(name: name)
        self.weights = weights
        self.configuration = configuration
    }

    /// A parameter in f32.
    mutating func weight(_ name: String, _ shape: [Int], _ part: WeightLoader.Part = .base) throws -> ValueID {
        try weights.value(name, shape, part, in: &graph)
    }

    /// `activation(x W^T + b) + residual`; the input width is that of x.
    ///
    /// - Parameter isTransposed: Checkpoints have the matrix as `[in, out]`. It is turned once, here: all that comes later has one layout to
    ///   deal with.
    mutating func linear(
        _ x: ValueID, _ name: String, to width: Int, _ activation: Activation = .none, _ part: WeightLoader.Part = .base,
        hasBias: Bool = true, residual: ValueID? = nil, isTransposed: Bool = false
    ) throws -> ValueID {
        let shape = [width, innerWidth(x)]
        let weight = isTransposed && !weights.isOutputMajor
            ? try weights.changed("\(name).weight", shape.reversed(), to: shape, in: &graph) { try $0.transposed() }
            : try weights.matrix("\(name).weight", shape, part, in: &graph)
        let bias = hasBias ? try self.weight("\(name).bias", [width], part) : nil
        return try apply(Linear(layout: .output_input, activation: activation), [x, weight, bias, residual], name)
    }

    /// Rows of a table by token id: `[batch, sequence, width]` for ids `[batch, sequence]`.
    mutating func embedding(_ ids: ValueID, _ name: String, _ shape: [Int]) throws -> ValueID {
        try graph.apply(Gather(axis: 0), try weights.matrix("\(name).weight", shape, .base, in: &graph), ids, name: name)
    }

    /// Applies an operator with one output to operands of which the last may be absent.
    mutating func apply(_ op: some Operator, _ operands: [ValueID?], _ name: String, _ output: String? = nil) throws -> ValueID {
        let count = (operands.lastIndex { $0 != nil } ?? -1) + 1
        let outputs = try graph.add(op, Array(operands.prefix(count)), name: name, outputNames: output.map { [$0] } ?? [])
        guard let first = outputs.first else { throw OperatorError(.invalidAttribute, "\(op.mnemonic) has no output") }
        return first
    }

    mutating func reshape(_ x: ValueID, _ dims: [Dim], _ name: String) throws -> ValueID {
        try graph.apply(Reshape(), x, try graph.apply(Dims(dims), name: name), name: name)
    }

    /// 0, 1, ..., sequence - 1 for tokens `[batch, sequence]`.
    mutating func range(over tokens: ValueID, name: String) throws -> ValueID {
        let limit = try graph.apply(Dims(scalar: graph.type(tokens).dims[1]), name: name)
        return try graph.apply(Arange(), try graph.scalar(0, .i64), limit, try graph.scalar(1, .i64), name: name, output: name)
    }

    /// The last dimension of a value whose last dimension is a number, as all hidden states have it.
    func innerWidth(_ x: ValueID) -> Int { graph.type(x).dims.last?.fixedValue ?? 0 }
}

extension Tensor {
    /// The transpose of a matrix.
    fileprivate func transposed() throws -> Tensor {
        guard let result = try Transpose(permutation: [1, 0]).evaluate(Inputs([self])).first else {
            throw OperatorError(.shapeMismatch, "a matrix cannot be transposed")
        }
        return result
    }
}
