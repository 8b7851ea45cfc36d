import GraphIR
import Tensors

/// The normalised sum of rows of up to three tables, as encoders begin (words, positions, token types; Devlin et al., 2018):
/// `layer_norm(sum of table[ids])`. Operands: three pairs of a table `[rows, width]` (f32, f16, bf16 or blocks) and its ids (i32 or i64; negative ones
/// count from the end), of which the second and third may be absent, then scale and bias of the norm, f32 `[width]`, which may be absent. The ids
/// broadcast to one shape; the output is f32 with `width` behind it. An id outside its table is an error.
public struct Embedding: Operator {
    public let epsilon: Float
    public init(epsilon: Float) { self.epsilon = epsilon }
    public static let name = "embedding"
    public static let arity = 2...8

    /// How many tables there may be.
    public static let tableCount = 3

    public func inferTypes(_ operands: Operands) throws -> [TensorType] {
        var dims: [Dim] = []
        var width: Dim?
        for pair in 0..<Self.tableCount {
            guard pair == 0 || operands.has(2 * pair) || operands.has(2 * pair + 1) else { continue }
            let table = try operands.weightType(2 * pair)
            let ids = try operands.require(2 * pair + 1, { $0 == .i64 || $0 == .i32 }, "i32 or i64")
            guard table.dtype == .f32 || table.dtype == .f16 || table.dtype == .bf16 || table.dtype.isBlock else {
                throw OperatorError(.typeMismatch, "a table of embedding is \(table.dtype.rawValue), expected f32, f16, bf16 or blocks")
            }
            guard table.rank == 2 else { throw OperatorError(.shapeMismatch, "a table of embedding has rank \(table.rank), not 2") }
            if let width { try requireEqual(width, table.dims[1], "the tables of embedding differ in width") }
            width = width ?? table.dims[1]
            dims = try broadcast(dims, ids.dims)
        }
        guard let width else { throw OperatorError(.invalidAttribute, "embedding has no table") }
        for index in 6..<8 {
            guard let parameter = operands.optional(index)?.type else { continue }
            guard parameter.dtype == .f32, parameter.rank == 1 else {
                throw OperatorError(.typeMismatch, "operand \(index) of embedding is \(parameter), expected f32[\(width)]")
            }
            try requireEqual(parameter.dims[0], width, "operand \(index) of embedding differs from its tables")
        }
        return [TensorType(.f32, dims + [width])]
    }
}

extension Embedding {
    public func evaluate(_ inputs: Inputs) throws -> [Tensor] {
        _ = try output(for: inputs)
        var sum: Tensor?
        for pair in 0..<Self.tableCount where inputs.optional(2 * pair) != nil {
            let gathered = try Gather(axis: 0).evaluate(Inputs([inputs[2 * pair], inputs[2 * pair + 1]]))[0].converted(to: .f32)
            sum = try sum.map { try Binary(.add).evaluate(Inputs([$0, gathered]))[0] } ?? gathered
        }
        return try LayerNorm(epsilon: epsilon).evaluate(Inputs([sum, inputs.optional(6), inputs.optional(7)]))
    }
}
