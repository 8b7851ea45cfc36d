import GraphIR
import Operators

/// The factor behind a normalisation.
///
///     layer_norm(x) * scale     =>     layer_norm(x, scale)
struct LayerNormScaleFusion: RewriteRule {
    let name = "layer_norm_scale"
    let nearMissThreshold = 3

    var pattern: Pattern {
        .mul(.layerNorm(.any("x"), scale: .absent, bias: .absent, residual: .optional("residual")).captured("norm"), .any("scale"))
    }

    func check(_ match: Match, in editor: GraphEditor) throws { try checkParameter(match, "scale", in: editor) }

    func rewrite(_ match: Match, in editor: inout GraphEditor) throws -> ValueID {
        let (op, dims) = try editor.layerNorm(try match["norm"])
        let scale = try editor.parameter(try match["scale"], normalizedDims: dims, name: editor.name(match))
        return try editor.add(op, try match["x"], scale, nil, match.optional("residual"), name: editor.name(match))
    }
}

/// The addend behind a normalisation.
///
///     layer_norm(x, scale) + bias     =>     layer_norm(x, scale, bias)
struct LayerNormBiasFusion: RewriteRule {
    let name = "layer_norm_bias"
    let nearMissThreshold = 3

    var pattern: Pattern {
        .add(.layerNorm(.any("x"), scale: .optional("scale"), bias: .absent, residual: .optional("residual")).captured("norm"), .any("bias"))
    }

    func check(_ match: Match, in editor: GraphEditor) throws { try checkParameter(match, "bias", in: editor) }

    func rewrite(_ match: Match, in editor: inout GraphEditor) throws -> ValueID {
        let (op, dims) = try editor.layerNorm(try match["norm"])
        let bias = try editor.parameter(try match["bias"], normalizedDims: dims, name: editor.name(match))
        return try editor.add(op, try match["x"], match.optional("scale"), bias, match.optional("residual"), name: editor.name(match))
    }
}

/// - Throws: `RuleMismatch` unless the captured value is a weight over the normalised dims.
private func checkParameter(_ match: Match, _ capture: String, in editor: GraphEditor) throws {
    let parameter = try match[capture]
    guard editor.isConstantExpression(parameter) else { throw RuleMismatch("the \(capture) is no constant", isNearMiss: false) }
    let dims = try editor.layerNorm(try match["norm"]).normalizedDims
    guard editor.parameterDims(parameter, normalizedDims: dims) != nil else {
        throw RuleMismatch("the \(capture) is \(editor.type(parameter)), which does not fit the normalised dimensions \(Array(dims))")
    }
}
