import GraphIR
import Operators
import Tensors

/// A product of integers and its scale, as dynamic quantisation and the QOperator form spell a dense layer. It becomes a dense layer over dequantised
/// operands, as the QDQ form has it, so that biases, activations and residuals find it; `QuantizedLinearFusion` makes one operator of all.
///
///     cast(matmul_integer(x, w, xZero, zero)) * (xScale * scale)           =>     linear(dequantize(x, xScale, xZero), dequantize(w, scale, zero))
///     cast(matmul_integer(x, w, xZero, zero) + bias) * factor              =>     ... + dequantize(bias, factor)
struct MatMulIntegerFusion: RewriteRule {
    let name = "matmul_integer"
    let nearMissThreshold = 3

    var pattern: Pattern {
        let product = Pattern.node(
            "matmul_integer", MatMulInteger.self, [.any("x"), .constant("weight"), .optional("xZero"), .optional("zero")]
        ).captured("product")
        let number = Pattern.node("cast", Cast.self, [.either([product, .add(product, .constant("bias"))])]) { $0.to == .f32 }
        return .mul(number, .either([.constant("factor"), Pattern.mul(.any("xScale"), .constant("scale")).shared]))
    }

    func check(_ match: Match, in editor: GraphEditor) throws {
        let weight = editor.type(try match["weight"])
        guard weight.rank == 2, let width = weight.dims[0].fixedValue, let out = weight.dims[1].fixedValue else {
            throw RuleMismatch("the weight is \(weight), not a matrix")
        }
        guard width <= QuantizedLinear.maximumWidth else { throw RuleMismatch("sums of \(width) products may not fit in 32 bits") }
        for name in ["xScale", "xZero"] {
            guard let value = match.optional(name), !isOneNumber(editor.type(value)) else { continue }
            throw RuleMismatch("%\(editor.graph[value].name) is \(editor.type(value)), not one number for all of x")
        }
        for name in ["factor", "scale", "zero", "bias"] {
            guard let value = match.optional(name), !isOneNumber(editor.type(value)) else { continue }
            guard editor.type(value).dims.last == .fixed(out), editor.type(value).dims.dropLast().allSatisfy({ $0 == 1 }) else {
                throw RuleMismatch("%\(editor.graph[value].name) is \(editor.type(value)), neither one number nor one per output")
            }
        }
        if match.optional("bias") != nil, match.optional("factor") == nil { throw RuleMismatch("the bias has no constant scale") }
    }

    private func isOneNumber(_ type: TensorType) -> Bool { type.dims.allSatisfy { $0 == 1 } }

    /// A constant as one number or a vector.
    private func flat(_ id: ValueID, _ editor: inout GraphEditor) throws -> ValueID {
        guard let tensor = editor.constant(id), tensor.rank > 1 else { return id }
        return editor.addConstant(try tensor.reshaped(tensor.count == 1 ? [] : [tensor.count]), name: editor.graph[id].name)
    }

    func rewrite(_ match: Match, in editor: inout GraphEditor) throws -> ValueID {
        let name = editor.name(match)
        let scale = try flat(try match.optional("factor") ?? match["scale"], &editor)
        // A factor that was multiplied out beforehand belongs to the weight alone.
        let xScale = try match.optional("xScale") ?? editor.addConstant(Tensor(floats: [1], shape: []), name: "one")
        let zero = try match.optional("zero").map { try flat($0, &editor) }
        let x = try editor.add(Dequantize(axis: 0), try match["x"], xScale, match.optional("xZero"), name: name)
        let weight = try editor.add(Dequantize(axis: 1), try match["weight"], scale, zero, name: name)
        let linear = Linear(layout: .input_output)
        guard let bias = match.optional("bias") else { return try editor.add(linear, x, weight, name: name) }
        let width = editor.type(weight).dims[1]
        var addend = try editor.add(Dequantize(axis: 0), try flat(bias, &editor), scale, name: name)
        if editor.type(addend).dims != [width] { addend = try editor.add(Expand(), addend, try editor.addDims([width], name: name), name: name) }
        return try editor.add(linear, x, weight, addend, name: name)
    }
}
