import GraphIR
import Operators

/// The residual connection before a normalisation.
///
///     layer_norm(x + residual, ...)     =>     layer_norm(x, ..., residual)
struct LayerNormResidualFusion: RewriteRule {
    let name = "layer_norm_residual"
    let nearMissThreshold = 3

    var pattern: Pattern {
        .layerNorm(
            .add(.any("a"), .any("b")).captured("sum"), scale: .optional("scale"), bias: .optional("bias"), residual: .absent
        ).captured("norm")
    }

    func check(_ match: Match, in editor: GraphEditor) throws {
        // A position embedding that is broadcast over the batch is no residual.
        let dims = editor.type(try match["sum"]).dims
        guard editor.type(try match["a"]).dims == dims, editor.type(try match["b"]).dims == dims else {
            throw RuleMismatch("the addends differ in shape", isNearMiss: false)
        }
    }

    func rewrite(_ match: Match, in editor: inout GraphEditor) throws -> ValueID {
        var (x, residual) = (try match["a"], try match["b"])
        // The branch that was just computed comes first, what skipped it second.
        if let a = editor.definition(x), let b = editor.definition(residual), a < b || editor.op(residual) is Linear && !(editor.op(x) is Linear) {
            swap(&x, &residual)
        }
        let op = try editor.layerNorm(try match["norm"]).op
        return try editor.add(op, x, match.optional("scale"), match.optional("bias"), residual, name: editor.name(match))
    }
}
