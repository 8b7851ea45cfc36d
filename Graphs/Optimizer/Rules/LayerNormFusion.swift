import GraphIR
import Operators
import Tensors

/// Normalisation spelled out in arithmetic.
///
///     mean = reduce_mean(x)
///     d = x - mean
///     variance = reduce_mean(d ^ 2)                        =>     layer_norm(x)
///     d / sqrt(variance + epsilon)
///
/// The square may be `d * d`, the quotient a product with a reciprocal or an rsqrt. Scale and bias join by rules of their own.
struct LayerNormFusion: RewriteRule {
    let name = "layer_norm"
    let nearMissThreshold = 5

    var pattern: Pattern {
        let mean = Pattern.node("reduce_mean", Reduce.self, [.any("x")]) { $0.kind == .mean }.captured("mean")
        let difference = Pattern.sub(.any("x"), mean).captured("difference")
        let square = Pattern.either([.pow(.any("difference"), .scalar(2)), .mul(.any("difference"), .any("difference"))])
        let variance = Pattern.node("reduce_mean", Reduce.self, [square]) { $0.kind == .mean }.captured("variance")
        let sum = Pattern.add(variance, .constant("epsilon"))
        let root = Pattern.either([.unary(.sqrt, sum), .pow(sum, .scalar(0.5))])
        let inverse = Pattern.either([.unary(.rsqrt, sum), .pow(sum, .scalar(-0.5)), .unary(.reciprocal, root), .div(.scalar(1), root)])
        return .either([.div(difference, root), .mul(difference, inverse)])
    }

    func check(_ match: Match, in editor: GraphEditor) throws {
        let x = editor.type(try match["x"])
        guard x.dtype.isFloat else { throw RuleMismatch("the input is \(x.dtype.rawValue)") }
        guard let epsilon = editor.scalar(try match["epsilon"]), epsilon >= 0 else { throw RuleMismatch("epsilon is no positive number") }
        let axes = try normalizedAxes(match, editor)
        guard axes == Array(x.rank - axes.count..<x.rank), !axes.isEmpty else {
            throw RuleMismatch("the mean is taken over axes \(axes) of rank \(x.rank), not over the last")
        }
    }

    /// The axes of the two means, which must be the same.
    private func normalizedAxes(_ match: Match, _ editor: GraphEditor) throws -> [Int] {
        let rank = editor.type(try match["x"]).rank
        let both = try ["mean", "variance"].map { capture -> [Int] in
            guard let reduce = editor.op(try match[capture]) as? Reduce else { throw RuleMismatch("\(capture) is no reduction") }
            let axes = try reduce.axes.map { try Shape.normalize(axis: $0, rank: rank) }.sorted()
            // Without kept dims the mean would broadcast along the wrong axes.
            guard reduce.keepDims else { throw RuleMismatch("the \(capture) does not keep the reduced dimensions") }
            return axes
        }
        guard both[0] == both[1] else { throw RuleMismatch("mean and variance are taken over axes \(both[0]) and \(both[1])") }
        return both[0]
    }

    func rewrite(_ match: Match, in editor: inout GraphEditor) throws -> ValueID {
        let axes = try normalizedAxes(match, editor)
        guard let epsilon = editor.scalar(try match["epsilon"]) else { throw RuleMismatch("epsilon is no number") }
        return try editor.add(LayerNorm(epsilon: Float(epsilon), normalizedRank: axes.count), try match["x"], name: editor.name(match))
    }
}

extension Pattern {
    /// A layer_norm and its operands.
    static func layerNorm(_ x: Pattern, scale: Pattern, bias: Pattern, residual: Pattern) -> Pattern {
        .node("layer_norm", LayerNorm.self, [x, scale, bias, residual])
    }
}

extension GraphEditor {
    /// A scale or bias as `layer_norm` takes it: a constant without leading dims of 1; nil where it does not fit the normalised dims.
    mutating func parameter(_ value: ValueID, normalizedDims: ArraySlice<Dim>, name: String) throws -> ValueID? {
        guard let kept = parameterDims(value, normalizedDims: normalizedDims) else { return nil }
        if kept.count == type(value).rank { return value }
        return try add(Reshape(), value, try addDims(kept, name: name), name: name)
    }

    func parameterDims(_ value: ValueID, normalizedDims: ArraySlice<Dim>) -> [Dim]? {
        var dims = type(value).dims[...]
        while dims.count > normalizedDims.count, dims.first == 1 { dims = dims.dropFirst() }
        guard dims.count <= normalizedDims.count, zip(dims.reversed(), normalizedDims.reversed()).allSatisfy({ $0 == 1 || $0 == $1 }) else { return nil }
        return Array(dims)
    }

    /// The operator and operands of a captured layer_norm.
    func layerNorm(_ value: ValueID) throws -> (op: LayerNorm, normalizedDims: ArraySlice<Dim>) {
        guard let op = op(value) as? LayerNorm else { throw RuleMismatch("no layer_norm") }
        return (op, type(value).dims.suffix(op.normalizedRank))
    }
}
