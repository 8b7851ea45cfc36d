import GraphIR
import Tensors

/// The function applied to the result of a `linear`, before a residual is added.
public enum Activation: String, Sendable, Hashable, Codable, CaseIterable {
    case none, relu, gelu, gelu_tanh, tanh, sigmoid, silu

    /// The same function as an operator of its own; nil for `none`.
    public var unary: Unary? {
        switch self {
        case .none: return nil
        case .relu: return Unary(.relu)
        case .gelu: return Unary(.gelu)
        case .gelu_tanh: return Unary(.gelu_tanh)
        case .tanh: return Unary(.tanh)
        case .sigmoid: return Unary(.sigmoid)
        case .silu: return Unary(.silu)
        }
    }
}

/// A dense layer, `activation(x W * scale + bias) + residual`. Operands: x `[..., in]`, weight, bias `[out]` or absent, residual
/// `[..., out]` or absent, scale (f32 `[out]`, of a weight in blocks only) or absent; the output is `[..., out]`. All are of one float type, but that
/// the weight for an f32 x may also be stored as f16 or bf16, or `[out, in]` in blocks. Its shape goes by the layout.
public struct Linear: Operator {
    /// How the weight matrix lies in memory.
    public enum Layout: String, Sendable, Hashable, Codable {
        /// `[in, out]`, as ONNX MatMul has it.
        case input_output
        /// `[out, in]`, as PyTorch's nn.Linear stores it.
        case output_input
        /// `[out / 16, in, 16]`: sixteen outputs side by side, f32 only. What the matrix products read; a weight in it is used from the file as it lies.
        case panels

        /// Outputs side by side in one panel.
        public static let panelWidth = 16
    }
    public let layout: Layout
    public let activation: Activation

    public init(layout: Layout, activation: Activation = .none) {
        self.layout = layout
        self.activation = activation
    }
    public static let name = "linear"
    public static let arity = 2...5

    public func inferTypes(_ operands: Operands) throws -> [TensorType] {
        let dtype = try operands.requireSameType([0, 2, 3])
        try operands.require(0, \.isFloat, "a float")
        let x = try operands.type(0).dims
        let stored = try operands.weightType(1)
        let isStored = dtype == .f32 && (stored.dtype == .f16 || stored.dtype == .bf16 || stored.dtype.isBlock)
        guard stored.dtype == dtype || isStored else {
            throw OperatorError(.typeMismatch, "the weight of linear is \(stored.dtype.rawValue), x is \(dtype.rawValue)")
        }
        guard !stored.dtype.isBlock || layout == .output_input else {
            throw OperatorError(.typeMismatch, "a weight of linear in \(stored.dtype.rawValue) blocks needs the layout output_input")
        }
        guard layout != .panels || stored.dtype == .f32 else {
            throw OperatorError(.typeMismatch, "a weight of linear in panels is f32, not \(stored.dtype.rawValue)")
        }
        let weight = stored.dims
        guard let last = x.last else { throw OperatorError(.shapeMismatch, "the input of linear is a scalar") }
        let rank = layout == .panels ? 3 : 2
        guard weight.count == rank else { throw OperatorError(.shapeMismatch, "the weight of linear has rank \(weight.count), not \(rank)") }
        let (inner, out): (Dim, Dim)
        switch layout {
        case .input_output: (inner, out) = (weight[0], weight[1])
        case .output_input: (inner, out) = (weight[1], weight[0])
        case .panels:
            try requireEqual(weight[2], .fixed(Layout.panelWidth), "the panels of the weight [\(text(weight))] have another width")
            (inner, out) = (weight[1], try weight[0] * .fixed(Layout.panelWidth))
        }
        try requireEqual(last, inner, "input width and weight [\(text(weight))] differ")
        if operands.has(4) {
            guard stored.dtype.isBlock else { throw OperatorError(.typeMismatch, "a linear with a scale has its weight in blocks, not in \(stored.dtype.rawValue)") }
            try operands.require(4, { $0 == .f32 }, "f32")
        }
        for (index, what) in [(2, "bias"), (4, "scale")] {
            guard let type = operands.optional(index)?.type else { continue }
            guard type.rank == 1 else { throw OperatorError(.shapeMismatch, "the \(what) of linear has rank \(type.rank), not 1") }
            try requireEqual(type.dims[0], out, "\(what) and weight [\(text(weight))] differ")
        }
        let dims = x.dropLast() + [out]
        if let residual = operands.optional(3)?.type {
            guard residual.rank == dims.count else { throw OperatorError(.shapeMismatch, "the residual of linear has rank \(residual.rank)") }
            for (a, b) in zip(residual.dims, dims) { try requireEqual(a, b, "the residual differs from the output") }
        }
        return [TensorType(dtype, Array(dims))]
    }
}

extension Linear {
    public func evaluate(_ inputs: Inputs) throws -> [Tensor] {
        let output = try output(for: inputs)
        // Half precision is storage only: everything up to the last rounding happens in f32.
        let working: DType = output.dtype == .f64 ? .f64 : .f32
        var weight = try inputs[1].converted(to: working)
        if layout == .panels { weight = try Self.unpack(panels: weight) }
        var x = try inputs[0].converted(to: working)
        let width = x.shape[x.rank - 1]
        let rows = try Shape.count(Array(x.shape.dropLast()))
        x = try x.reshaped([rows, width])
        var result = try MatMul(transposeB: layout == .output_input).evaluate(Inputs([x, weight]))
        if let scale = inputs.optional(4) { result = try Binary(.mul).evaluate(Inputs([result[0], scale])) }
        if let bias = inputs.optional(2) { result = try Binary(.add).evaluate(Inputs([result[0], bias.converted(to: working)])) }
        if let unary = activation.unary { result = try unary.evaluate(Inputs([result[0]])) }
        result = [try result[0].reshaped(output.shape)]
        if let residual = inputs.optional(3) { result = try Binary(.add).evaluate(Inputs([result[0], residual.converted(to: working)])) }
        return [try result[0].converted(to: output.dtype)]
    }

    /// The layout of `[out, in]` weights as panels.
    ///
    /// - Parameter weight: f32; `out` is a multiple of `panelWidth`.
    public static func pack(outputInput weight: Tensor) throws -> Tensor {
        let (out, inner) = (weight.shape[0], weight.shape[1])
        let split = try weight.reshaped([out / Layout.panelWidth, Layout.panelWidth, inner])
        return try Transpose(permutation: [0, 2, 1]).evaluate(Inputs([split]))[0]
    }

    /// The same for `[in, out]`.
    public static func pack(inputOutput weight: Tensor) throws -> Tensor {
        let (inner, out) = (weight.shape[0], weight.shape[1])
        let split = try weight.reshaped([inner, out / Layout.panelWidth, Layout.panelWidth])
        return try Transpose(permutation: [1, 0, 2]).evaluate(Inputs([split]))[0]
    }

    /// `[in, out]` from panels.
    public static func unpack(panels: Tensor) throws -> Tensor {
        let rows = try Transpose(permutation: [1, 0, 2]).evaluate(Inputs([panels]))[0]
        return try rows.reshaped([panels.shape[1], panels.shape[0] * Layout.panelWidth])
    }
}
