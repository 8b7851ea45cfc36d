import GraphIR
import Tensors

/// Quantises every row (all of the last dim) to u8 by its own range, which is widened to hold 0, as `dynamic_quantize` does a whole tensor. One operand (f32,
/// `[..., n]`); outputs: the quantised rows (u8, `[..., n]`), scale (f32, `[..., 1]`), zero (u8, `[..., 1]`). A row of zeros has the scale 0; one that
/// holds a NaN or an infinity has that for its scale and zeros, so that a product with it is NaN.
public struct QuantizeRows: Operator {
    public init() {}
    public static let name = "quantize_rows"
    public static let arity = 1...1

    public func inferTypes(_ operands: Operands) throws -> [TensorType] {
        let x = try operands.require(0, { $0 == .f32 }, "f32")
        guard x.rank > 0 else { throw OperatorError(.shapeMismatch, "the input of quantize_rows is a scalar") }
        let rows = Array(x.dims.dropLast()) + [.fixed(1)]
        return [TensorType(.u8, x.dims), TensorType(.f32, rows), TensorType(.u8, rows)]
    }
}

extension QuantizeRows {
    public func evaluate(_ inputs: Inputs) throws -> [Tensor] {
        let outputs = try outputs(for: inputs)
        let x = try inputs[0]
        guard outputs.count == 3, let width = x.shape.last else { throw OperatorError(.invalidAttribute, "quantize_rows has three outputs") }
        let values = x.floats()
        var quantized = [UInt8](repeating: 0, count: values.count)
        var scales: [Float] = []
        var zeros: [UInt8] = []
        /// A NaN counts as 0.
        func byte(_ number: Float) -> UInt8 { number.isNaN ? 0 : UInt8(max(0, min(255, number))) }
        for row in 0..<(try Shape.count(outputs[1].shape)) {
            let elements = values[row * width..<(row + 1) * width]
            let least = elements.reduce(Float(0)) { $0.isNaN || $1.isNaN ? .nan : min($0, $1) }
            let greatest = elements.reduce(Float(0)) { $0.isNaN || $1.isNaN ? .nan : max($0, $1) }
            let scale = (greatest - least) / 255
            let zero = byte((-least / scale).rounded(.toNearestOrEven))
            scales.append(scale)
            zeros.append(zero)
            for (index, element) in elements.enumerated() {
                let step = (element / scale).rounded(.toNearestOrEven)
                quantized[row * width + index] = byte((step.isNaN ? 0 : step) + Float(zero))
            }
        }
        return [
            try Tensor(elements: quantized, dtype: .u8, shape: x.shape), try Tensor(floats: scales, shape: outputs[1].shape),
            try Tensor(elements: zeros, dtype: .u8, shape: outputs[2].shape),
        ]
    }
}
