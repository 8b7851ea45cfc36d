import GraphIR
import Operators
import Tensors

/// Attention spelled out, as eager code and as decomposed scaled_dot_product_attention export it.
///
///     scores = matmul(q, kT) * factor      (or / divisor, or q and kT each scaled before)
///     scores = scores + bias + mask        (each may be missing; or where(attend, scores, -inf))
///     weights = softmax(scores)            (then perhaps where(is_nan(weights), 0, weights))
///     matmul(weights, v)
///
///     =>     scaled_dot_product_attention(q, k, v, mask)
struct AttentionFusion: RewriteRule {
    let name = "attention"
    let nearMissThreshold = 3

    var pattern: Pattern {
        let product = Pattern.node("matmul", MatMul.self, [.any("q"), .any("k")]) { !$0.transposeA }.captured("product")
        let scaled = Pattern.either([.mul(product, .constant("factor")), .div(product, .constant("divisor")), product])
        let biased = Pattern.either([.add(scaled, .any("bias")), scaled])
        let masked = Pattern.either([
            .add(biased, .any("mask")),
            .node("select", Select.self, [.any("attend"), biased, .constant("fill")]),
            .node("select", Select.self, [.any("exclude"), .constant("fill"), biased]),
            biased,
        ])
        let softmax = Pattern.node("softmax", Softmax.self, [masked]) { $0.kind == .softmax }.captured("softmax")
        let weights = Pattern.either([
            .node("select", Select.self, [.unary(.is_nan, .any("softmax")), .scalar(0), softmax]).captured("guarded"),
            softmax,
        ])
        return .node("matmul", MatMul.self, [weights, .any("v")]) { !$0.transposeA && !$0.transposeB }
    }

    func check(_ match: Match, in editor: GraphEditor) throws {
        let (q, k, v) = (editor.type(try match["q"]), try keyType(match, editor), editor.type(try match["v"]))
        guard q.rank == 4, k.rank == 4, v.rank == 4 else { throw RuleMismatch("q, k and v have the ranks \(q.rank), \(k.rank), \(v.rank), expected 4") }
        guard q.dtype.isFloat else { throw RuleMismatch("q is \(q.dtype.rawValue)") }
        guard let softmax = editor.op(try match["softmax"]) as? Softmax, softmax.axis == 3 || softmax.axis == -1 else {
            throw RuleMismatch("the softmax does not run over the keys")
        }
        // matmul broadcasts heads and batches; attention takes them as they are.
        for (axis, what) in [(0, "batch"), (1, "heads")] {
            guard q.dims[axis] == k.dims[axis], k.dims[axis] == v.dims[axis] else {
                throw RuleMismatch("q, k and v differ in \(what): \(q.dims[axis]), \(k.dims[axis]), \(v.dims[axis])")
            }
        }
        for capture in ["factor", "divisor"] {
            guard let value = match.optional(capture) else { continue }
            guard let number = editor.scalar(value), number.isFinite, number != 0 else { throw RuleMismatch("the \(capture) of the scores is no single number") }
        }
        let target = [q.dims[0], q.dims[1], q.dims[2], k.dims[2]]
        for capture in ["bias", "mask", "attend", "exclude"] {
            guard let value = match.optional(capture) else { continue }
            let type = editor.type(value)
            guard type.rank <= 4, zip(type.dims.reversed(), target.reversed()).allSatisfy({ $0 == 1 || $0 == $1 || $1 == k.dims[2] && $0 == v.dims[2] }) else {
                throw RuleMismatch("the \(capture) is \(type), which does not fit the scores \(target)")
            }
        }
        if let fill = match.optional("fill") {
            // Only a value that swallows every score makes "replace by" and "add" the same.
            guard let number = editor.scalar(fill), number <= Self.swallowing else {
                throw RuleMismatch("masked scores become \(editor.scalar(fill).map { "\($0)" } ?? "a tensor"), not minus infinity or the lowest number")
            }
        }
    }

    /// Scores of real models are far smaller than a rounding step of this.
    private static let swallowing = -1e30

    /// The type of k with its dims in attention's order.
    private func keyType(_ match: Match, _ editor: GraphEditor) throws -> TensorType {
        var type = editor.type(try match["k"])
        guard type.rank >= 2 else { throw RuleMismatch("k has rank \(type.rank)") }
        if !isTransposed(match, editor) { type.dims.swapAt(type.rank - 1, type.rank - 2) }
        return type
    }

    /// The product reads k as it is stored.
    private func isTransposed(_ match: Match, _ editor: GraphEditor) -> Bool {
        (match.optional("product").flatMap { editor.op($0) } as? MatMul)?.transposeB ?? false
    }

    func rewrite(_ match: Match, in editor: inout GraphEditor) throws -> ValueID {
        let name = editor.name(match)
        let (q, qScale) = withoutScale(try match["q"], editor)
        let (kStored, kScale) = withoutScale(try match["k"], editor)
        var scale = qScale * kScale
        if let factor = match.optional("factor").flatMap({ editor.scalar($0) }) { scale *= factor }
        if let divisor = match.optional("divisor").flatMap({ editor.scalar($0) }) { scale /= divisor }
        let k = isTransposed(match, editor) ? kStored : try editor.add(Transpose(permutation: [0, 1, 3, 2]), kStored, name: name)
        let op = ScaledDotProductAttention(scale: Float(scale), emptyRowsAreZero: match.optional("guarded") != nil)
        return try editor.add(op, q, k, try match["v"], try mask(match, name, in: &editor), name: name)
    }

    /// x and c of `x * c` or `x / c` with a number c.
    private func withoutScale(_ value: ValueID, _ editor: GraphEditor) -> (ValueID, Double) {
        guard let op = editor.op(value) as? Binary, op.kind == .mul || op.kind == .div else { return (value, 1) }
        let inputs = editor.inputs(value).compactMap { $0 }
        guard inputs.count == 2, let number = editor.scalar(inputs[1]), number.isFinite, number != 0,
            editor.type(inputs[0]).dims == editor.type(value).dims
        else { return (value, 1) }
        return (inputs[0], op.kind == .mul ? number : 1 / number)
    }

    /// All that is added to the scores, or which of them count, as one operand.
    private func mask(_ match: Match, _ name: String, in editor: inout GraphEditor) throws -> ValueID? {
        var added: ValueID?
        for capture in ["bias", "mask"] {
            guard let value = match.optional(capture) else { continue }
            if let sum = added { added = try editor.add(Binary(.add), sum, value, name: name) } else { added = value }
        }
        var attend = match.optional("attend")
        if let exclude = match.optional("exclude") { attend = try editor.add(Unary(.not), exclude, name: name) }
        guard let attend, let fill = match.optional("fill") else { return added.map { boolean($0, editor) ?? $0 } }
        if added == nil, editor.scalar(fill) == -.infinity { return attend }
        let dtype = editor.type(fill).dtype
        let zero = try editor.addConstant(Tensor(doubles: [0], dtype: dtype, shape: []))
        return try editor.add(Select(), attend, added ?? zero, fill, name: name)
    }

    /// The condition of a mask `where(attend, 0, -inf)`: a bool mask says the same.
    private func boolean(_ mask: ValueID, _ editor: GraphEditor) -> ValueID? {
        guard editor.op(mask) is Select else { return nil }
        let inputs = editor.inputs(mask).compactMap { $0 }
        guard inputs.count == 3, editor.scalar(inputs[1]) == 0, editor.scalar(inputs[2]) == -.infinity,
            editor.type(inputs[0]).dims == editor.type(mask).dims
        else { return nil }
        return inputs[0]
    }
}
