import GraphIR
import Operators
import Tensors

/// Root mean square normalisation spelled out in arithmetic.
///
///     x / sqrt(reduce_mean(x ^ 2) + epsilon)     =>     rms_norm(x)
///
/// The square may be `x * x`, the quotient a product with a reciprocal or an rsqrt. The scale joins by a rule of its own.
struct RMSNormFusion: RewriteRule {
    let name = "rms_norm"
    let nearMissThreshold = 4

    var pattern: Pattern {
        let square = Pattern.either([.pow(.any("x"), .scalar(2)), .mul(.any("x"), .any("x"))])
        let mean = Pattern.node("reduce_mean", Reduce.self, [square]) { $0.kind == .mean }.captured("mean")
        let sum = Pattern.add(mean, .constant("epsilon"))
        let root = Pattern.either([.unary(.sqrt, sum), .pow(sum, .scalar(0.5))])
        let inverse = Pattern.either([.unary(.rsqrt, sum), .pow(sum, .scalar(-0.5)), .unary(.reciprocal, root), .div(.scalar(1), root)])
        return .either([.div(.any("x"), root), .mul(.any("x"), inverse)])
    }

    func check(_ match: Match, in editor: GraphEditor) throws {
        let x = editor.type(try match["x"])
        guard x.dtype.isFloat else { throw RuleMismatch("the input is \(x.dtype.rawValue)") }
        // With the mean taken off before, this is the core of a layer_norm.
        if let difference = editor.op(try match["x"]) as? Binary, difference.kind == .sub,
            case let operands = editor.inputs(try match["x"]), operands.count == 2, let mean = operands[1],
            (editor.op(mean) as? Reduce)?.kind == .mean, editor.inputs(mean).first == operands[0]
        {
            throw RuleMismatch("the input has its mean taken off", isNearMiss: false)
        }
        guard let epsilon = editor.scalar(try match["epsilon"]), epsilon >= 0 else { throw RuleMismatch("epsilon is no positive number") }
        guard let reduce = editor.op(try match["mean"]) as? Reduce else { throw RuleMismatch("no mean") }
        guard reduce.keepDims, reduce.axes == [x.rank - 1] || reduce.axes == [-1] else {
            throw RuleMismatch("the mean is taken over axes \(reduce.axes) of rank \(x.rank), not over the last one, or drops it")
        }
    }

    func rewrite(_ match: Match, in editor: inout GraphEditor) throws -> ValueID {
        guard let epsilon = editor.scalar(try match["epsilon"]) else { throw RuleMismatch("epsilon is no number") }
        return try editor.add(RMSNorm(epsilon: Float(epsilon)), try match["x"], name: editor.name(match))
    }
}

/// The scale behind a root mean square normalisation.
///
///     rms_norm(x) * scale     =>     rms_norm(x, scale)
struct RMSNormScaleFusion: RewriteRule {
    let name = "rms_norm_scale"
    let nearMissThreshold = 3

    var pattern: Pattern {
        .mul(Pattern.node("rms_norm", RMSNorm.self, [.any("x"), .absent]).captured("norm"), .any("scale"))
    }

    func check(_ match: Match, in editor: GraphEditor) throws {
        let (norm, scale) = (editor.type(try match["norm"]), editor.type(try match["scale"]))
        guard editor.isConstantExpression(try match["scale"]) else { throw RuleMismatch("the factor is no constant", isNearMiss: false) }
        guard scale.dims.last == norm.dims.last, scale.dims.dropLast().allSatisfy({ $0 == 1 }), scale.rank <= norm.rank else {
            throw RuleMismatch("the factor is \(scale), not a scale of \(norm)")
        }
    }

    func rewrite(_ match: Match, in editor: inout GraphEditor) throws -> ValueID {
        let norm = try match["norm"]
        guard let op = editor.op(norm) as? RMSNorm, let width = editor.type(norm).dims.last else { throw RuleMismatch("no rms_norm") }
        var scale = try match["scale"]
        if editor.type(scale).rank > 1 {
            scale = try editor.add(Reshape(), scale, try editor.addDims([width], name: editor.name(match)), name: editor.name(match))
        }
        return try editor.add(op, try match["x"], scale, name: editor.name(match))
    }
}
