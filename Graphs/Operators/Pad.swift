import GraphIR
import Tensors

/// Adds elements before and after along every dim; negative amounts remove some. Operands: x, pads (i64 vector: all begins, then all
/// ends), value (scalar of x's type) or absent (zero).
public struct Pad: Operator {
    public enum Mode: String, Sendable, Hashable, Codable { case constant, reflect, edge, wrap }
    public let mode: Mode
    public init(mode: Mode = .constant) { self.mode = mode }
    public static let name = "pad"
    public static let arity = 2...3

    public func inferTypes(_ operands: Operands) throws -> [TensorType] {
        var type = try operands.type(0)
        try operands.requireSameType([0, 2])
        let pads = try operands.require(1, { $0 == .i64 || $0 == .i32 }, "i64")
        guard pads.rank == 1 else { throw OperatorError(.shapeMismatch, "the pads have rank \(pads.rank), not 1") }
        if let value = operands.optional(2)?.type, value.rank > 0, value.dims != [1] {
            throw OperatorError(.shapeMismatch, "the value of pad has the shape [\(text(value.dims))]")
        }
        try requireEqual(pads.dims[0], .fixed(2 * type.rank), "pads and rank differ")
        let amounts = operands.value(1)?.elements
        for axis in type.dims.indices {
            type.dims[axis] = if let amounts { try type.dims[axis] + amounts[axis] + amounts[axis + type.rank] } else { operands.freshSymbol(axis) }
            if let size = type.dims[axis].fixedValue, size < 0 { throw OperatorError(.shapeMismatch, "pads leave the negative size \(size)") }
        }
        return [type]
    }
}

extension Pad {
    public func evaluate(_ inputs: Inputs) throws -> [Tensor] {
        let output = try output(for: inputs)
        var x = try inputs[0]
        let amounts = try inputs[1].integers()
        let value = inputs.optional(2)
        for axis in output.shape.indices where amounts[axis] != 0 || amounts[axis + output.shape.count] != 0 {
            let size = x.shape[axis]
            let before = Int(amounts[axis])
            // Padding that meets the size only after a later cut would need memory without bound.
            guard before.magnitude <= UInt(Evaluation.maximumByteCount) else {
                throw OperatorError(.shapeMismatch, "pad by \(before) elements")
            }
            let positions = try (0..<output.shape[axis]).map { try source($0 - before, size: size) }
            x = try take(x, axis: axis, positions: positions, filler: value)
        }
        return [x]
    }

    /// Where the element at a place relative to the start of the axis comes from.
    private func source(_ place: Int, size: Int) throws -> Int? {
        if place >= 0, place < size { return place }
        if mode == .constant { return nil }
        guard size > 0 else { throw OperatorError(.shapeMismatch, "\(mode.rawValue) padding of an empty dimension") }
        switch mode {
        case .constant: return nil
        case .edge: return place < 0 ? 0 : size - 1
        case .wrap: return (place % size + size) % size
        case .reflect:
            guard size > 1 else { return 0 }
            let period = 2 * (size - 1)
            let phase = (place % period + period) % period
            return phase < size ? phase : period - phase
        }
    }
}
