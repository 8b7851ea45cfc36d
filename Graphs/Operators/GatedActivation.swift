import GraphIR
import Tensors

/// A gated unit behind a dense layer that computes gate and value at once (Shazeer, 2020, "GLU variants"): the first half of the last dim of
/// x `[..., 2 n]` is the gate g, the second the value v; the output `[..., n]` is `activation(g) * v`.
public struct GatedActivation: Operator {
    public let activation: Activation
    public init(_ activation: Activation) { self.activation = activation }
    public static let name = "gated_activation"
    public static let arity = 1...1

    public func inferTypes(_ operands: Operands) throws -> [TensorType] {
        var type = try operands.require(0, \.isFloat, "a float")
        guard let width = type.dims.last?.fixedValue, width % 2 == 0 else {
            throw OperatorError(.shapeMismatch, "the last dimension of gated_activation is \(type.dims.last.map { "\($0)" } ?? "missing"), not an even number")
        }
        type.dims[type.rank - 1] = .fixed(width / 2)
        return [type]
    }
}

extension GatedActivation {
    public func evaluate(_ inputs: Inputs) throws -> [Tensor] {
        let output = try output(for: inputs)
        let x = try inputs[0]
        let width = output.shape.last ?? 0
        func half(_ start: Int) throws -> Tensor {
            let bounds = try [start, start + width].map { try Tensor(integers: [Int64($0)], shape: [1]) }
            return try Slice(axes: [-1]).evaluate(Inputs([x] + bounds))[0]
        }
        var gate = try half(0)
        if let unary = activation.unary { gate = try unary.evaluate(Inputs([gate]))[0] }
        return try Binary(.mul).evaluate(Inputs([gate, half(width)]))
    }
}
