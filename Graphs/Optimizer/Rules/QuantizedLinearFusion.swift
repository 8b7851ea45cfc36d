import GraphIR
import Operators
import Tensors

/// A dense layer whose input and weight are both stored in 8 bits multiplies them as they are:
///
///     linear(dequantize(x, xScale, xZero), dequantize(w, scale, zero), bias, residual)     =>     quantized_linear(x, xScale, xZero, w, scale, zero, bias, residual)
///
/// The weight becomes i8 `[out, in]`, with a scale (and a zero point, where there is one) for each output.
struct QuantizedLinearFusion: RewriteRule {
    let name = "quantized_linear"
    let nearMissThreshold = 3

    var pattern: Pattern {
        .node("linear", Linear.self, [
            Pattern.node("dequantize", Dequantize.self, [.any("x"), .any("xScale"), .optional("xZero")]).shared,
            Pattern.node("dequantize", Dequantize.self, [.constant("weight"), .constant("scale"), .optional("zero")]).shared.captured("dequantized"),
            .optional("bias"), .optional("residual"),
        ]).captured("linear")
    }

    func check(_ match: Match, in editor: GraphEditor) throws {
        let (x, weight) = (editor.type(try match["x"]), editor.type(try match["weight"]))
        guard x.dtype == .i8 || x.dtype == .u8, weight.dtype == .i8 || weight.dtype == .u8, weight.rank == 2 else {
            throw RuleMismatch("no 8-bit operands", isNearMiss: false)
        }
        guard editor.type(try match["linear"]).dtype == .f32, editor.type(try match["xScale"]).dtype == .f32, editor.type(try match["scale"]).dtype == .f32 else {
            throw RuleMismatch("the scales are \(editor.type(try match["xScale"])) and \(editor.type(try match["scale"])), not f32")
        }
        for name in ["xScale", "xZero"] {
            guard let value = match.optional(name) else { continue }
            let dims = editor.type(value).dims
            guard dims.isEmpty || dims == [1] else { throw RuleMismatch("%\(editor.graph[value].name) is not one number for all of x") }
        }
        guard let layout = (editor.op(try match["linear"]) as? Linear)?.layout, layout != .panels else { throw RuleMismatch("a weight in panels") }
        let out = layout == .output_input ? 0 : 1
        guard let width = weight.dims[1 - out].fixedValue, width <= QuantizedLinear.maximumWidth else {
            throw RuleMismatch("sums of \(weight.dims[1 - out]) products may not fit in 32 bits")
        }
        let axis = (editor.op(try match["dequantized"]) as? Dequantize)?.axis ?? 0
        for name in ["scale", "zero"] {
            guard let value = match.optional(name) else { continue }
            guard let tensor = editor.constant(value) else { throw RuleMismatch("%\(editor.graph[value].name) is no constant") }
            guard tensor.count == 1 || (axis + 2) % 2 == out else { throw RuleMismatch("%\(editor.graph[value].name) runs along the inputs of the weight") }
        }
    }

    func rewrite(_ match: Match, in editor: inout GraphEditor) throws -> ValueID {
        guard let linear = editor.op(try match["linear"]) as? Linear, let dequantize = editor.op(try match["dequantized"]) as? Dequantize,
            let q = editor.constant(try match["weight"]), let scales = editor.constant(try match["scale"])
        else { throw RuleMismatch("no linear") }
        let zeros = match.optional("zero").flatMap { editor.constant($0) }
        let integers = try IntegerWeight(q, scale: scales, zero: zeros, axis: dequantize.axis, layout: linear.layout)
        let name = editor.name(match)
        let scale = editor.addConstant(integers.scale, name: editor.graph[try match["scale"]].name)
        let zero = integers.zero.map { editor.addConstant($0, name: "zero") }
        let stored = editor.addConstant(integers.weight, name: editor.graph[try match["weight"]].name)
        return try editor.add(
            QuantizedLinear(activation: linear.activation), try match["x"], try match["xScale"], match.optional("xZero"), stored, scale, zero,
            match.optional("bias"), match.optional("residual"), name: name)
    }
}
