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
