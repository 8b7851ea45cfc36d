import GraphIR
import Operators
import Tensors

/// An 8-bit weight as `quantized_linear` takes it, from one that `dequantize` turns into floats: i8 `[out, in]`, with a scale and a zero point for each
/// output.
struct IntegerWeight {
    let weight: Tensor
    /// f32 `[out]`.
    let scale: Tensor
    /// i8 `[out]`; nil where all are 0.
    let zero: Tensor?

    /// - Parameters:
    ///   - q: i8 or u8, a matrix.
    ///   - axis: Which dim of q its scales run along, where they are several.
    /// - Throws: `RuleMismatch` where the sums of a product do not have one scale each.
    init(_ q: Tensor, scale: Tensor, zero: Tensor?, axis: Int, layout: Linear.Layout) throws {
        guard q.dtype == .i8 || q.dtype == .u8, q.rank == 2, layout != .panels else { throw RuleMismatch("no matrix of 8 bits", isNearMiss: false) }
        guard scale.dtype == .f32 else { throw RuleMismatch("the scale is \(scale.dtype.rawValue), not f32") }
        let out = layout == .output_input ? 0 : 1
        guard q.shape[1 - out] <= QuantizedLinear.maximumWidth else { throw RuleMismatch("sums of \(q.shape[1 - out]) products may not fit in 32 bits") }
        for (tensor, what) in [(scale, "scale"), (zero ?? scale, "zero point")] where tensor.count != 1 {
            guard (axis + 2) % 2 == out, tensor.count == q.shape[out] else { throw RuleMismatch("the \(what) runs along the inputs of the weight") }
        }
        var weight = q
        if layout == .input_output { weight = try Transpose(permutation: [1, 0]).evaluate(Inputs([weight]))[0] }
        let count = weight.shape[0]
        var zeros = zero?.integers() ?? [0]
        if weight.dtype == .u8 {
            // The same distances from a zero point that is 128 less.
            weight = try Tensor(integers: weight.integers().map { $0 - 128 }, dtype: .i8, shape: weight.shape)
            zeros = zeros.map { $0 - 128 }
        }
        func vector<Element>(_ elements: [Element]) -> [Element] { elements.count == 1 ? Array(repeating: elements[0], count: count) : elements }
        self.weight = weight
        self.scale = try Tensor(floats: vector(scale.floats()), shape: [count])
        self.zero = zeros.allSatisfy { $0 == 0 } ? nil : try Tensor(integers: vector(zeros), dtype: .i8, shape: [count])
    }

    /// The weight of a `linear` with a scale, whose blocks hold whole numbers.
    ///
    /// - Throws: `RuleMismatch` where they hold others.
    init(blocks: Tensor, scale: Tensor) throws {
        guard blocks.dtype.isBlock, blocks.rank == 2, scale.dtype == .f32 else { throw RuleMismatch("no matrix in blocks", isNearMiss: false) }
        guard blocks.shape[1] <= QuantizedLinear.maximumWidth else { throw RuleMismatch("sums of \(blocks.shape[1]) products may not fit in 32 bits") }
        let numbers = blocks.floats()
        guard numbers.allSatisfy({ $0 == $0.rounded() && abs($0) <= 127 || $0 == -128 }) else { throw RuleMismatch("its blocks hold no whole numbers of 8 bits") }
        weight = try Tensor(elements: numbers.map { Int8($0) }, dtype: .i8, shape: blocks.shape)
        self.scale = scale
        zero = nil
    }
}
