import GraphIR
import Tensors

/// Which tokens of a padded batch are real: what a batch runs on when its tokens stand one behind the other. Operand: mask `[batch, sequence]`,
/// bool (true for a real token) or a float that attention scores get added (a number so low that it swallows every score is padding).
/// Outputs:
///
/// - rows i64 `[1, tokens]`: the kept tokens as indices into `batch * sequence`, ascending;
/// - positions i64 `[1, tokens]`: their places in their sequences, `row % sequence`;
/// - offsets i64 `[batch + 1]`: sequence b has the rows `offsets[b]..<offsets[b + 1]`.
///
/// The first `leading` tokens of each sequence are kept even where they are padding, for what reads them by their place; a sequence of padding alone
/// is kept whole. `tokens` is rounded up by at most 1/32, so that few different counts occur: surplus rows name token 0 and belong to no sequence.
public struct TokenRows: Operator {
    public let leading: Int
    public init(leading: Int = 0) { self.leading = leading }
    public static let name = "token_rows"
    public static let arity = 1...1

    /// A mask value from which on a key counts. Exporters write padding as -10000 or lower, position biases are small.
    static let leastMask = -5000.0

    public func inferTypes(_ operands: Operands) throws -> [TensorType] {
        let mask = try operands.require(0, { $0 == .bool || $0.isFloat }, "bool or a float")
        guard mask.rank == 2 else { throw OperatorError(.shapeMismatch, "the mask of token_rows has rank \(mask.rank), not 2") }
        guard leading >= 0 else { throw OperatorError(.invalidAttribute, "\(leading) leading tokens") }
        let count = try operands.optional(0)?.constant.map { Dim.fixed(try rows(of: $0).rows.count) } ?? operands.freshSymbol()
        return [TensorType(.i64, [1, count]), TensorType(.i64, [1, count]), TensorType(.i64, [try mask.dims[0] + 1])]
    }

    /// By element of a mask: a real token.
    public static func isReal(_ mask: Tensor) -> [Bool] {
        mask.dtype == .bool ? mask.integers().map { $0 != 0 } : mask.doubles().map { $0 > leastMask }
    }

    /// - Throws: `OperatorError` for a mask that is no matrix.
    private func rows(of mask: Tensor) throws -> (rows: [Int64], offsets: [Int64]) {
        guard mask.rank == 2 else { throw OperatorError(.shapeMismatch, "the mask of token_rows has rank \(mask.rank), not 2") }
        let (batch, sequence) = (mask.shape[0], mask.shape[1])
        let isReal = Self.isReal(mask)
        var rows: [Int64] = []
        rows.reserveCapacity(isReal.count)
        var offsets: [Int64] = [0]
        for start in (0..<batch).map({ $0 * sequence }) {
            let hasTokens = isReal[start..<start + sequence].contains(true)
            for index in start..<start + sequence where isReal[index] || index - start < leading || !hasTokens { rows.append(Int64(index)) }
            offsets.append(Int64(rows.count))
        }
        rows += Array(repeating: 0, count: Self.rounded(rows.count, limit: isReal.count) - rows.count)
        return (rows, offsets)
    }

    /// The next multiple of a 32nd of the power of two below `count`, at least of 8; all tokens where those are fewer.
    static func rounded(_ count: Int, limit: Int) -> Int {
        guard count > 0, count < limit else { return count }
        let step = max(8, (1 << (Int.bitWidth - 1 - count.leadingZeroBitCount)) / 32)
        return min((count + step - 1) / step * step, limit)
    }
}

extension TokenRows {
    public func evaluate(_ inputs: Inputs) throws -> [Tensor] {
        let mask = try inputs[0]
        let (rows, offsets) = try rows(of: mask)
        let sequence = Int64(max(mask.shape[1], 1))
        return [
            try Tensor(integers: rows, shape: [1, rows.count]), try Tensor(integers: rows.map { $0 % sequence }, shape: [1, rows.count]),
            try Tensor(integers: offsets, shape: [offsets.count]),
        ]
    }

    /// Checks offsets as `token_rows` makes them against the rows that they divide.
    ///
    /// - Returns: The rows of each sequence.
    /// - Throws: `OperatorError` for offsets that do not ascend from 0 to at most `count`.
    public static func sequences(_ offsets: UnsafeBufferPointer<Int64>, count: Int) throws -> [Range<Int>] {
        guard offsets.first == 0, let last = offsets.last, last <= count else {
            throw OperatorError(.shapeMismatch, "offsets of sequences that do not fit \(count) rows")
        }
        return try zip(offsets, offsets.dropFirst()).map { start, end in
            guard start <= end else { throw OperatorError(.shapeMismatch, "offsets of sequences that do not ascend") }
            return Int(start)..<Int(end)
        }
    }
}
