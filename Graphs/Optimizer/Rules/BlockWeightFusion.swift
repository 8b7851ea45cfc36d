import GraphIR
import Operators
import Tensors

/// The weight of a dense layer over floats that is stored in 8 bits stays so, as blocks of whole numbers: products read it as it is, and each output has
/// its scale.
///
///     linear(x, dequantize(w, scale, zero), bias, residual)     =>     linear(x, w_q8_0, bias, residual, scale)
struct BlockWeightFusion: RewriteRule {
    let name = "block_weight"
    let nearMissThreshold = 2

    var pattern: Pattern {
        .node("linear", Linear.self, [
            .any("x"), Pattern.node("dequantize", Dequantize.self, [.constant("weight"), .constant("scale"), .optional("zero")]).shared.captured("dequantized"),
            .optional("bias"), .optional("residual"),
        ]).captured("linear")
    }

    func check(_ match: Match, in editor: GraphEditor) throws {
        guard editor.type(try match["x"]).dtype == .f32 else { throw RuleMismatch("x is \(editor.type(try match["x"]).dtype.rawValue)", isNearMiss: false) }
        _ = try blocks(match, in: editor)
    }

    /// The weight less its zero points, in blocks with the scale 1, and the scales of the outputs.
    private func blocks(_ match: Match, in editor: GraphEditor) throws -> (weight: Tensor, scale: Tensor) {
        guard let linear = editor.op(try match["linear"]) as? Linear, let dequantize = editor.op(try match["dequantized"]) as? Dequantize,
            let q = editor.constant(try match["weight"]), let scale = editor.constant(try match["scale"])
        else { throw RuleMismatch("no constants", isNearMiss: false) }
        let zero = match.optional("zero").flatMap { editor.constant($0) }
        guard (zero == nil) == (match.optional("zero") == nil) else { throw RuleMismatch("the zero point is no constant") }
        let integers = try IntegerWeight(q, scale: scale, zero: zero, axis: dequantize.axis, layout: linear.layout)
        let width = integers.weight.shape[1]
        let zeros = integers.zero?.integers() ?? Array(repeating: 0, count: integers.weight.shape[0])
        let levels = integers.weight.integers().enumerated().map { Int16($0.element - zeros[$0.offset / width]) }
        do {
            let ones = [Float](repeating: 1, count: zeros.count)
            return (try Tensor(levels: levels, scales: ones, group: width, shape: integers.weight.shape), integers.scale)
        } catch let reason as TensorError {
            throw RuleMismatch("\(reason)")
        }
    }

    func rewrite(_ match: Match, in editor: inout GraphEditor) throws -> ValueID {
        guard let linear = editor.op(try match["linear"]) as? Linear else { throw RuleMismatch("no linear") }
        let blocks = try blocks(match, in: editor)
        let weight = editor.addConstant(blocks.weight, name: editor.graph[try match["weight"]].name)
        let scale = editor.addConstant(blocks.scale, name: editor.graph[try match["scale"]].name)
        return try editor.add(
            Linear(layout: .output_input, activation: linear.activation), try match["x"], weight, match.optional("bias"), match.optional("residual"), scale,
            name: editor.name(match))
    }
}
