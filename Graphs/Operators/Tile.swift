import GraphIR
import Tensors

/// Repeats a tensor along each dim. Operands: x, repeats (i64 vector, one element per dim).
public struct Tile: Operator {
    public init() {}
    public static let name = "tile"
    public static let arity = 2...2

    public func inferTypes(_ operands: Operands) throws -> [TensorType] {
        var type = try operands.type(0)
        let repeats = try operands.require(1, { $0 == .i64 || $0 == .i32 }, "i64")
        guard repeats.rank == 1 else { throw OperatorError(.shapeMismatch, "the repeats of tile have rank \(repeats.rank), not 1") }
        try requireEqual(repeats.dims[0], .fixed(type.rank), "repeats of tile and rank differ")
        let factors = operands.value(1)?.elements
        for axis in type.dims.indices {
            if let factor = factors?[axis] {
                if (factor.fixedValue ?? 0) < 0 { throw OperatorError(.shapeMismatch, "tile repeats \(factor) times") }
                type.dims[axis] = try type.dims[axis] * factor
            } else {
                type.dims[axis] = operands.freshSymbol(axis)
            }
        }
        return [type]
    }
}

extension Tile {
    public func evaluate(_ inputs: Inputs) throws -> [Tensor] {
        let output = try output(for: inputs)
        let x = try inputs[0]
        let strides = Shape.strides(x.shape)
        let repeats = try inputs[1].integers()
        // Every dim as a pair: the repetition, which does not move, and the dim itself.
        let paired = try stridedCopy(
            x, shape: x.shape.indices.flatMap { [Int(repeats[$0]), x.shape[$0]] }, strides: strides.flatMap { [0, $0] })
        return [try paired.reshaped(output.shape)]
    }
}
