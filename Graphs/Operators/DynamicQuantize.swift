import GraphIR
import Tensors

/// Quantises a whole tensor to u8 by its own range, which is widened to hold 0 (ONNX DynamicQuantizeLinear). One operand (f32); outputs:
/// the quantised tensor, scale (f32 scalar), zero (u8 scalar).
public struct DynamicQuantize: Operator {
    public init() {}
    public static let name = "dynamic_quantize"
    public static let arity = 1...1

    public func inferTypes(_ operands: Operands) throws -> [TensorType] {
        let x = try operands.require(0, { $0 == .f32 }, "f32")
        return [TensorType(.u8, x.dims), TensorType(.f32, []), TensorType(.u8, [])]
    }
}

extension DynamicQuantize {
    public func evaluate(_ inputs: Inputs) throws -> [Tensor] {
        let outputs = try outputs(for: inputs)
        let x = try inputs[0]
        let values = x.floats()
        let least = values.reduce(0) { $1 < $0 ? $1 : $0 }
        let greatest = values.reduce(0) { $1 > $0 ? $1 : $0 }
        // All zero: any scale will do.
        let scale = greatest == least ? 1 : (greatest - least) / 255
        let zero = Swift.min(Swift.max(-least / scale, 0), 255).rounded(.toNearestOrEven)
        let scaleTensor = try Tensor(floats: [scale], shape: [])
        let zeroTensor = try Tensor(floats: [zero], dtype: .u8, shape: [])
        let quantized = try Quantize(to: .u8).evaluate(Inputs([x, scaleTensor, zeroTensor]))
        guard outputs.count == 3 else { throw OperatorError(.invalidAttribute, "dynamic_quantize has three outputs") }
        return quantized + [scaleTensor, zeroTensor]
    }
}
