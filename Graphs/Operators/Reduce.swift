import GraphIR
import Tensors

/// Reductions over axes. No axes means none: each element is reduced by itself, so list all to reduce to one value. The output has the
/// operand's type, but for `argmax` and `argmin` (i64, exactly one axis, the first of equals).
public struct Reduce: OperatorFamily {
    public enum Kind: String, Sendable, Hashable, Codable, CaseIterable {
        case sum = "reduce_sum"
        case mean = "reduce_mean"
        case max = "reduce_max"
        case min = "reduce_min"
        case prod = "reduce_prod"
        case sumSquare = "reduce_sum_square"
        case l1 = "reduce_l1"
        case l2 = "reduce_l2"
        case logSum = "reduce_log_sum"
        case logSumExp = "reduce_log_sum_exp"
        case argmax = "reduce_argmax"
        case argmin = "reduce_argmin"
    }
    public let kind: Kind
    public let axes: [Int]
    public let keepDims: Bool

    public init(_ kind: Kind, axes: [Int], keepDims: Bool) {
        self.kind = kind
        self.axes = axes
        self.keepDims = keepDims
    }
    public static let name = "reduce"
    public static let arity = 1...1

    public func inferTypes(_ operands: Operands) throws -> [TensorType] {
        let type = try operands.require(0, { $0 != .bool }, "a number")
        let axes = Set(try normalized(axes: axes, rank: type.rank))
        let isArgument = kind == .argmax || kind == .argmin
        if isArgument, axes.count != 1 { throw OperatorError(.invalidAttribute, "\(kind.rawValue) takes exactly one axis") }
        let dims = type.dims.indices.compactMap { index in axes.contains(index) ? (keepDims ? 1 : nil) : type.dims[index] }
        return [TensorType(isArgument ? .i64 : type.dtype, dims)]
    }

    public func inferValues(_ operands: Operands) throws -> [SymbolicTensor?] {
        guard kind == .prod || kind == .sum || kind == .max || kind == .min, let value = operands.value(0), value.shape.count == 1,
            try normalized(axes: axes, rank: 1) == [0], let first = value.elements.first
        else { return [] }
        let total = try? value.elements.dropFirst().reduce(first) { partial, element in
            switch kind {
            case .prod: return try partial * element
            case .sum: return try partial + element
            case .max: return try Dim.apply(.max, partial, element)
            default: return try Dim.apply(.min, partial, element)
            }
        }
        guard let total, let dtype = operands.optional(0)?.type.dtype else { return [] }
        return [SymbolicTensor(shape: keepDims ? [1] : [], elements: [total])?.held(by: dtype)]
    }
}

extension Reduce {
    public func evaluate(_ inputs: Inputs) throws -> [Tensor] {
        let output = try output(for: inputs)
        let x = try inputs[0]
        let reduced = try normalized(axes: axes, rank: x.rank)
        let kept = x.shape.indices.filter { !reduced.contains($0) }
        // With the reduced axes last, every output element is the reduction of one row.
        let order = kept + reduced
        var rows = x
        if order != Array(x.shape.indices) { rows = try Transpose(permutation: order).evaluate(Inputs([x]))[0] }
        let length = try Shape.count(reduced.map { x.shape[$0] })
        switch (kind, x.dtype) {
        case (.argmax, .f64), (.argmin, .f64): return [try argument(Double.self, rows, length, output)]
        case (.argmax, .u64), (.argmin, .u64): return [try argument(UInt64.self, rows, length, output)]
        case (.argmax, _), (.argmin, _):
            return [x.dtype.isFloat ? try argument(Float.self, rows, length, output) : try argument(Int64.self, rows, length, output)]
        case (_, .f64): return [try reduce(rows, length, output) { try real(Double.self, $0) }]
        case (_, .f32), (_, .f16), (_, .bf16): return [try reduce(rows, length, output) { try real(Float.self, $0) }]
        case (_, .u64): return [try reduce(rows, length, output) { try integer(UInt64.self, $0, lowest: .min, highest: .max) }]
        default:
            let (lowest, highest) = x.dtype.integerRange
            return [try reduce(rows, length, output) { try integer(Int64.self, $0, lowest: lowest, highest: highest) }]
        }
    }

    private func reduce<T: ComputeNumber>(
        _ rows: Tensor, _ length: Int, _ output: (dtype: DType, shape: [Int]), _ body: (UnsafeBufferPointer<T>) throws -> T
    ) throws -> Tensor {
        try T.make(output.dtype, output.shape) { out in
            try T.read(rows) { x in
                for index in out.indices {
                    out[index] = try body(UnsafeBufferPointer(rebasing: x[index * length..<(index + 1) * length]))
                }
            }
        }
    }

    /// Sums are taken in `Double`, so that long rows of floats do not lose the small addends.
    private func real<T: ComputeReal>(_ type: T.Type, _ row: UnsafeBufferPointer<T>) throws -> T {
        func sum(_ term: (Double) -> Double) -> Double {
            var total = 0.0
            for value in row { total += term(Double(value)) }
            return total
        }
        switch kind {
        case .sum: return T.converting(sum { $0 })
        case .mean: return T.converting(sum { $0 } / Double(row.count))
        case .prod: return T.converting(row.reduce(1.0) { $0 * Double($1) })
        case .sumSquare: return T.converting(sum { $0 * $0 })
        case .l1: return T.converting(sum(\.magnitude))
        case .l2: return T.converting(sum { $0 * $0 }.squareRoot())
        case .logSum: return T.converting(Double.log(sum { $0 }))
        case .logSumExp:
            let largest = Double(row.reduce(-T.infinity) { $1 > $0 || $1.isNaN ? $1 : $0 })
            guard largest.isFinite else { return T.converting(largest) }
            return T.converting(largest + Double.log(sum { Double.exp($0 - largest) }))
        case .max: return row.reduce(-T.infinity) { $0.isNaN || $0 > $1 ? $0 : $1 }
        case .min: return row.reduce(T.infinity) { $0.isNaN || $0 < $1 ? $0 : $1 }
        case .argmax, .argmin: throw OperatorError(.unsupported, "\(kind.rawValue) of a value")
        }
    }

    /// - Parameter lowest: The range of the tensor's type: the maximum and minimum of nothing.
    private func integer<T: ComputeNumber & FixedWidthInteger>(
        _ type: T.Type, _ row: UnsafeBufferPointer<T>, lowest: T, highest: T
    ) throws -> T {
        switch kind {
        case .sum: return row.reduce(0, &+)
        case .mean:
            guard let count = T(exactly: row.count), count > 0 else { throw OperatorError(.unsupported, "the mean of no integers") }
            return row.reduce(0, &+) / count
        case .prod: return row.reduce(1, &*)
        case .sumSquare: return row.reduce(0) { $0 &+ $1 &* $1 }
        case .l1: return row.reduce(0) { $0 &+ ($1 < 0 ? 0 &- $1 : $1) }
        case .max: return row.reduce(lowest) { Swift.max($0, $1) }
        case .min: return row.reduce(highest) { Swift.min($0, $1) }
        case .l2: return T.converting(row.reduce(0.0) { $0 + Double($1) * Double($1) }.squareRoot())
        case .logSum: return T.converting(Double.log(row.reduce(0.0) { $0 + Double($1) }))
        case .logSumExp:
            guard let largest = row.max().map({ Double($0) }) else { return T.converting(-.infinity) }
            return T.converting(largest + Double.log(row.reduce(0.0) { $0 + Double.exp(Double($1) - largest) }))
        case .argmax, .argmin: throw OperatorError(.unsupported, "\(kind.rawValue) of a value")
        }
    }

    /// As numpy: the first NaN wins, else the first of equals.
    private func argument<T: ComputeNumber>(
        _ type: T.Type, _ rows: Tensor, _ length: Int, _ output: (dtype: DType, shape: [Int])
    ) throws -> Tensor {
        let count = try Shape.count(output.shape)
        guard length > 0 || count == 0 else { throw OperatorError(.shapeMismatch, "\(kind.rawValue) of no elements") }
        var result = [Int64](repeating: 0, count: count)
        try T.read(rows) { x in
            for index in result.indices {
                var best = 0
                for place in 0..<length {
                    let (value, held) = (x[index * length + place], x[index * length + best])
                    if held.isNotANumber { break }
                    if value.isNotANumber || (kind == .argmax ? value > held : value < held) { best = place }
                }
                result[index] = Int64(best)
            }
        }
        return try Tensor(integers: result, shape: output.shape)
    }
}
