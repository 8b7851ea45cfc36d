import GraphIR
import Tensors

/// A part of a tensor, `x[start:end:step]` along each of `axes` as numpy has it: negative bounds count from the end, bounds outside are
/// clamped, steps may be negative. Operands: x, starts, ends (integer vectors as long as `axes`), steps or absent (all 1).
public struct Slice: Operator {
    public let axes: [Int]
    public init(axes: [Int]) { self.axes = axes }
    public static let name = "slice"
    public static let arity = 3...4

    public func inferTypes(_ operands: Operands) throws -> [TensorType] {
        var type = try operands.type(0)
        for index in 1..<4 where operands.has(index) {
            let bounds = try operands.require(index, { $0 == .i64 || $0 == .i32 }, "i64")
            guard bounds.rank == 1 else { throw OperatorError(.shapeMismatch, "operand \(index) of slice has rank \(bounds.rank), not 1") }
            try requireEqual(bounds.dims[0], .fixed(axes.count), "operand \(index) of slice and its axes differ in length")
        }
        for (position, axis) in try axes.map({ try normalized(axis: $0, rank: type.rank) }).enumerated() {
            let size = type.dims[axis]
            let step: Int?
            if operands.has(3) { step = operands.value(3)?.elements[position].fixedValue } else { step = 1 }
            if step == 0 { throw OperatorError(.invalidAttribute, "a slice with step 0") }
            if let start = operands.value(1)?.elements[position], let end = operands.value(2)?.elements[position], let step,
                let length = try Self.length(of: size, start: start, end: end, step: step)
            {
                type.dims[axis] = length
            } else {
                type.dims[axis] = operands.freshSymbol(axis)
            }
        }
        guard Set(try axes.map { try normalized(axis: $0, rank: type.rank) }).count == axes.count else {
            throw OperatorError(.invalidAttribute, "slice names an axis twice")
        }
        return [type]
    }

    /// The number of elements left; nil where it depends on values that are not known.
    static func length(of size: Dim, start: Dim, end: Dim, step: Int) throws -> Dim? {
        if let size = size.fixedValue, let start = start.fixedValue, let end = end.fixedValue {
            return .fixed(bounds(size: size, start: start, end: end, step: step).count)
        }
        if step == -1, start == -1 || (start.fixedValue ?? 0) >= 1 << 31, (end.fixedValue ?? 0) <= -(1 << 31) { return size }
        guard step == 1 else { return nil }
        // Symbolic sizes: a bound is clamped only where it is provably outside.
        func clamp(_ bound: Dim) throws -> Dim? {
            if let value = bound.fixedValue {
                if value == 0 { return 0 }
                if value >= 1 << 31 { return size }
                if value < 0 { return value <= -(1 << 31) ? 0 : try Dim.apply(.max, size + bound, 0) }
                return try Dim.apply(.min, size, bound)
            }
            if bound == size { return size }
            // Expressions such as `sequence` against a larger size: exporters slice within bounds.
            if bound.isKnownNonNegative { return try Dim.apply(.min, size, bound) }
            return nil
        }
        guard let first = try clamp(start), let last = try clamp(end) else { return nil }
        if first == 0 { return last }
        return try Dim.apply(.max, last - first, 0)
    }

    /// numpy's rule on numbers: the first index and how many there are.
    public static func bounds(size: Int, start: Int, end: Int, step: Int) -> (first: Int, count: Int) {
        func clamp(_ bound: Int, _ low: Int, _ high: Int) -> Int {
            let value = bound < 0 ? bound.addingReportingOverflow(size).partialValue : bound
            return Swift.min(Swift.max(value, low), high)
        }
        if step > 0 {
            let first = clamp(start, 0, size)
            let last = clamp(end, 0, size)
            return (first, last <= first ? 0 : (last - first - 1) / step + 1)
        }
        let first = clamp(start, -1, size - 1)
        let last = clamp(end, -1, size - 1)
        return (first, last >= first || step == 0 ? 0 : Int(UInt(first - last - 1) / step.magnitude) + 1)
    }

    public func inferValues(_ operands: Operands) throws -> [SymbolicTensor?] {
        guard let value = operands.value(0), value.shape.count == 1, axes.count == 1,
            let start = operands.value(1)?.fixedValues?.first, let end = operands.value(2)?.fixedValues?.first
        else { return [] }
        var step = 1
        if operands.has(3) {
            guard let known = operands.value(3)?.fixedValues?.first, known != 0 else { return [] }
            step = known
        }
        let (first, count) = Self.bounds(size: value.elements.count, start: start, end: end, step: step)
        return [SymbolicTensor((0..<count).map { value.elements[first + $0 * step] })]
    }
}

extension Slice {
    public func evaluate(_ inputs: Inputs) throws -> [Tensor] {
        let output = try output(for: inputs)
        let x = try inputs[0]
        var strides = Shape.strides(x.shape)
        var offset = 0
        let (starts, ends) = (try inputs[1].integers(), try inputs[2].integers())
        let steps = inputs.optional(3)?.integers()
        for (index, axis) in try axes.map({ try normalized(axis: $0, rank: x.rank) }).enumerated() {
            let step = Int(steps?[index] ?? 1)
            let (first, count) = Self.bounds(size: x.shape[axis], start: Int(starts[index]), end: Int(ends[index]), step: step)
            offset += count > 0 ? first * strides[axis] : 0
            // A step beyond the size is never taken.
            strides[axis] = count > 1 ? strides[axis] * step : 0
        }
        return [try stridedCopy(x, shape: output.shape, strides: strides, offset: offset)]
    }
}
