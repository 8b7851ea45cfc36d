import GraphIR
import Operators
import Tensors

/// A weight in 16-bit floats or blocks stays one.
///
///     linear(x, cast(weight))     =>     linear(x, weight)
struct LinearOfCastFusion: RewriteRule {
    let name = "linear_cast"
    let nearMissThreshold = 3

    var pattern: Pattern {
        .node(
            "linear", Linear.self,
            [.any("x"), Pattern.node("cast", Cast.self, [.any("weight")]).shared, .optional("bias"), .optional("residual")]
        ).captured("product")
    }

    func check(_ match: Match, in editor: GraphEditor) throws {
        let (x, weight) = (try match["x"], try match["weight"])
        let dtype = editor.type(weight).dtype
        guard editor.isConstantExpression(weight), [.f16, .bf16].contains(dtype) || dtype.isBlock, editor.type(x).dtype == .f32 else {
            throw RuleMismatch("the weight is not stored in 16 bits or blocks", isNearMiss: false)
        }
        let layout = (editor.op(try match["product"]) as? Linear)?.layout
        guard !dtype.isBlock || layout == .output_input else {
            throw RuleMismatch("the blocks run along the outputs")
        }
    }

    func rewrite(_ match: Match, in editor: inout GraphEditor) throws -> ValueID {
        guard let op = editor.op(try match["product"]) as? Linear else { throw RuleMismatch("no linear") }
        return try editor.add(
            op, try match["x"], try match["weight"], match.optional("bias"), match.optional("residual"), name: editor.name(match))
    }
}
