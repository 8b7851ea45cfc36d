import GraphIR
import Tensors

/// The upper or lower triangle of the last two dims; everything else becomes zero. Operands: x, k (i64 scalar: the diagonal, 0 the main,
/// positive above it) or absent (0).
public struct Trilu: Operator {
    public let isUpper: Bool
    public init(isUpper: Bool) { self.isUpper = isUpper }
    public static let name = "trilu"
    public static let arity = 1...2

    public func inferTypes(_ operands: Operands) throws -> [TensorType] {
        let type = try operands.type(0)
        guard type.rank >= 2 else { throw OperatorError(.shapeMismatch, "trilu of a tensor of rank \(type.rank)") }
        if operands.has(1) { try operands.require(1, { $0 == .i64 }, "i64") }
        return [type]
    }
}

extension Trilu {
    public func evaluate(_ inputs: Inputs) throws -> [Tensor] {
        let output = try output(for: inputs)
        let x = try inputs[0]
        let diagonal = Int(inputs.optional(1)?.integers().first ?? 0)
        let (rows, columns) = (x.shape[x.rank - 2], x.shape[x.rank - 1])
        let size = x.dtype.size
        return [
            try Tensor(dtype: output.dtype, shape: output.shape) { target in
                x.withUnsafeBytes { source in
                    for index in 0..<x.count {
                        let (row, column) = (index / columns % rows, index % columns)
                        let isKept = isUpper ? column - row >= diagonal : column - row <= diagonal
                        for byte in index * size..<(index + 1) * size { target[byte] = isKept ? source[byte] : 0 }
                    }
                }
            }
        ]
    }
}
