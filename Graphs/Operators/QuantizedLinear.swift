import GraphIR
import Tensors

/// A dense layer over 8-bit operands: `activation(sum((x - xZero) (w - zero)) * xScale * scale + bias) + residual`, with exact sums, in f32 from there.
///
/// Operands: x (i8 or u8, `[..., in]`), xScale (f32: one number, or one per row, `[..., 1]`), xZero (of x's type, the same) or absent (0), weight (i8,
/// `[out, in]`, or in panels), scale (f32 `[out]`), zero (i8 `[out]`) or absent (0), bias (f32 `[out]`) or absent, residual (f32 `[..., out]`) or absent;
/// the output is f32 `[..., out]`.
///
/// A weight in panels, `[out / 16, in / 4, 16, 4]`, has four inputs of sixteen outputs side by side: what the products read.
public struct QuantizedLinear: Operator {
    public let activation: Activation

    public init(activation: Activation = .none) { self.activation = activation }
    public static let name = "quantized_linear"
    public static let arity = 5...8

    /// Outputs side by side in one panel, and inputs.
    public static let panel = (outputs: 16, inputs: 4)
    /// More products than that may not fit in a sum of 32 bits.
    public static let maximumWidth = 65_536

    public func inferTypes(_ operands: Operands) throws -> [TensorType] {
        let x = try operands.require(0, { $0 == .i8 || $0 == .u8 }, "i8 or u8")
        guard let width = x.dims.last else { throw OperatorError(.shapeMismatch, "the input of quantized_linear is a scalar") }
        if let width = width.fixedValue, width > Self.maximumWidth {
            throw OperatorError(.unsupported, "quantized_linear of \(width) inputs; sums of more than \(Self.maximumWidth) do not fit in 32 bits")
        }
        for index in [1, 4, 6, 7] where operands.has(index) { try operands.require(index, { $0 == .f32 }, "f32") }
        if operands.has(2) { try operands.requireSameType([0, 2]) }
        for (index, what) in [(1, "scale"), (2, "zero point")] where index == 1 || operands.has(index) {
            let dims = try operands.type(index).dims
            if Self.isScalar(dims) { continue }
            guard dims.count == x.rank else {
                throw OperatorError(.shapeMismatch, "the \(what) [\(text(dims))] of x is neither one number nor one per row")
            }
            for (a, b) in zip(dims, x.dims.dropLast() + [.fixed(1)]) { try requireEqual(a, b, "\(what) and rows of x differ") }
        }
        let weight = try operands.require(3, { $0 == .i8 }, "i8").dims
        let out: Dim
        switch weight.count {
        case 2:
            out = weight[0]
            try requireEqual(width, weight[1], "input width and weight [\(text(weight))] differ")
        case 4:
            try requireEqual(weight[2], .fixed(Self.panel.outputs), "the panels of the weight [\(text(weight))] have another width")
            try requireEqual(weight[3], .fixed(Self.panel.inputs), "the panels of the weight [\(text(weight))] have another depth")
            out = try weight[0] * .fixed(Self.panel.outputs)
            try requireEqual(width, try weight[1] * .fixed(Self.panel.inputs), "input width and weight [\(text(weight))] differ")
        default: throw OperatorError(.shapeMismatch, "the weight of quantized_linear has rank \(weight.count), not 2, or 4 for panels")
        }
        if operands.has(5) { try operands.require(5, { $0 == .i8 }, "i8") }
        for (index, what) in [(4, "scale"), (5, "zero point"), (6, "bias")] {
            guard let type = operands.optional(index)?.type else { continue }
            guard type.rank == 1 else { throw OperatorError(.shapeMismatch, "the \(what) of quantized_linear has rank \(type.rank), not 1") }
            try requireEqual(type.dims[0], out, "\(what) and weight [\(text(weight))] differ")
        }
        let dims = x.dims.dropLast() + [out]
        if let residual = operands.optional(7)?.type {
            guard residual.rank == dims.count else { throw OperatorError(.shapeMismatch, "the residual of quantized_linear has rank \(residual.rank)") }
            for (a, b) in zip(residual.dims, dims) { try requireEqual(a, b, "the residual differs from the output") }
        }
        return [TensorType(.f32, Array(dims))]
    }

    private static func isScalar(_ dims: [Dim]) -> Bool { dims.isEmpty || dims == [.fixed(1)] }
}

extension QuantizedLinear {
    public func evaluate(_ inputs: Inputs) throws -> [Tensor] {
        let output = try output(for: inputs)
        let x = try inputs[0]
        let width = x.shape[x.rank - 1]
        let rows = try Shape.count(Array(x.shape.dropLast()))
        var weight = try inputs[3]
        if weight.rank == 4 { weight = try Self.unpack(panels: weight) }
        let outputs = weight.shape[0]
        let xZero = try inputs.optional(2).map { try $0.reshaped($0.count == 1 ? [] : [rows]) }
        let transposed = try Transpose(permutation: [1, 0]).evaluate(Inputs([weight]))[0]
        let exact = try MatMulInteger().evaluate(Inputs([x.reshaped([rows, width]), transposed, xZero, inputs.optional(5)]))[0]
        var xScale = try inputs[1]
        xScale = try xScale.reshaped(xScale.count == 1 ? [1, 1] : [rows, 1])
        let scale = try Binary(.mul).evaluate(Inputs([xScale, inputs[4].reshaped([1, outputs])]))[0]
        var result = try Binary(.mul).evaluate(Inputs([exact.converted(to: .f32), scale]))
        if let bias = inputs.optional(6) { result = try Binary(.add).evaluate(Inputs([result[0], bias])) }
        if let unary = activation.unary { result = try unary.evaluate(Inputs([result[0]])) }
        result = [try result[0].reshaped(output.shape)]
        if let residual = inputs.optional(7) { result = try Binary(.add).evaluate(Inputs([result[0], residual])) }
        return result
    }

    /// The layout of an `[out, in]` weight as panels; nil where it does not fill whole ones.
    public static func pack(_ weight: Tensor) throws -> Tensor? {
        guard weight.rank == 2, weight.shape[0] % panel.outputs == 0, weight.shape[1] % panel.inputs == 0 else { return nil }
        let split = try weight.reshaped([weight.shape[0] / panel.outputs, panel.outputs, weight.shape[1] / panel.inputs, panel.inputs])
        return try Transpose(permutation: [0, 2, 1, 3]).evaluate(Inputs([split]))[0]
    }

    /// `[out, in]` from panels.
    public static func unpack(panels: Tensor) throws -> Tensor {
        let rows = try Transpose(permutation: [0, 2, 1, 3]).evaluate(Inputs([panels]))[0]
        return try rows.reshaped([panels.shape[0] * panel.outputs, panels.shape[1] * panel.inputs])
    }
}
