import GraphIR
import Tensors

/// A batch with its padding again, zeros where no token is. Operands: x `[1, tokens, ...]`, rows i64 `[1, tokens]` and offsets i64 `[batch + 1]` of
/// `token_rows`, shape (i64 vector `[batch, sequence]`). The output is `[batch, sequence, ...]`.
public struct PadTokens: Operator {
    public init() {}
    public static let name = "pad_tokens"
    public static let arity = 4...4

    public func inferTypes(_ operands: Operands) throws -> [TensorType] {
        let x = try operands.type(0)
        let rows = try operands.require(1, { $0 == .i64 }, "i64")
        let offsets = try operands.require(2, { $0 == .i64 }, "i64")
        let shape = try operands.require(3, { $0 == .i64 }, "i64")
        guard x.rank >= 2, rows.rank == 2, offsets.rank == 1, shape.rank == 1 else {
            throw OperatorError(.shapeMismatch, "operands of pad_tokens of rank \(x.rank), \(rows.rank), \(offsets.rank), \(shape.rank)")
        }
        for axis in 0..<2 { try requireEqual(x.dims[axis], rows.dims[axis], "x and the rows of pad_tokens differ") }
        try requireEqual(shape.dims[0], 2, "the shape of pad_tokens is batch and sequence")
        let target = operands.value(3)?.elements ?? (0..<2).map { operands.freshSymbol($0) }
        try requireEqual(try target[0] + 1, offsets.dims[0], "batch and offsets of pad_tokens differ")
        return [TensorType(x.dtype, target + x.dims[2...])]
    }
}

extension PadTokens {
    public func evaluate(_ inputs: Inputs) throws -> [Tensor] {
        let output = try output(for: inputs)
        let x = try inputs[0]
        let width = try Shape.byteCount(Array(output.shape[2...]), output.dtype)
        let limit = try Shape.count(Array(output.shape[..<2]))
        let rows = try inputs[1].integers()
        let count = try inputs[2].withElements(of: Int64.self) { try TokenRows.sequences($0, count: rows.count).last?.upperBound ?? 0 }
        for row in rows[..<count] where row < 0 || row >= limit { throw OperatorError(.shapeMismatch, "row \(row) is outside a batch of \(limit)") }
        return [try Tensor(dtype: output.dtype, shape: output.shape) { target in
            target.initializeMemory(as: UInt8.self, repeating: 0)
            x.withUnsafeBytes { source in
                for index in 0..<count where width > 0 {
                    UnsafeMutableRawBufferPointer(rebasing: target[Int(rows[index]) * width..<(Int(rows[index]) + 1) * width])
                        .copyMemory(from: UnsafeRawBufferPointer(rebasing: source[index * width..<(index + 1) * width]))
                }
            }
        }]
    }
}
