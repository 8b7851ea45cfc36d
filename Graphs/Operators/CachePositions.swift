import GraphIR
import Tensors

/// The position of each new token in its sequence: the number of real tokens before it, those in the run's key-value cache included.
/// Operands: ids `[batch, sequence]`, of which only the shape counts, and mask i64 `[batch, sequence]` (nonzero for a real token of the new
/// ones) or absent. The output is i64 `[batch, sequence]`. Padding gets the position that the next real token would get.
public struct CachePositions: Operator {
    public init() {}
    public static let name = "cache_positions"
    public static let arity = 1...2
    public static let usesCache = true

    public func inferTypes(_ operands: Operands) throws -> [TensorType] {
        let ids = try operands.type(0)
        guard ids.rank == 2 else { throw OperatorError(.shapeMismatch, "the ids of cache_positions have rank \(ids.rank), not 2") }
        if operands.has(1) {
            let mask = try operands.require(1, { $0 == .i64 }, "i64")
            guard mask.rank == 2 else { throw OperatorError(.shapeMismatch, "the mask of cache_positions has rank \(mask.rank), not 2") }
            for (a, b) in zip(mask.dims, ids.dims) { try requireEqual(a, b, "mask and ids differ") }
        }
        return [TensorType(.i64, ids.dims)]
    }

    /// The positions behind an empty cache.
    public func evaluate(_ inputs: Inputs) throws -> [Tensor] {
        let output = try output(for: inputs)
        let mask = inputs.optional(1)?.integers()
        let sequence = output.shape[1]
        var positions = [Int64](repeating: 0, count: output.shape[0] * sequence)
        for row in 0..<output.shape[0] {
            var next: Int64 = 0
            for index in row * sequence..<(row + 1) * sequence {
                positions[index] = next
                if mask.map({ $0[index] != 0 }) ?? true { next += 1 }
            }
        }
        return [try Tensor(integers: positions, shape: output.shape)]
    }
}
