import GraphIR
import Operators
import Tensors

/// An embedding table stays in its stored type: only the rows that are looked up are dequantised.
///
///     gather(dequantize(table, scale), ids)     =>     dequantize(gather(table, ids), scale)
///
/// A scale per row is looked up with the rows: `cast(gather(table, ids)) * gather(scale, ids)`.
struct GatherOfDequantizeFusion: RewriteRule {
    let name = "gather_dequantize"
    let nearMissThreshold = 3

    var pattern: Pattern {
        .node("gather", Gather.self, [
            Pattern.node("dequantize", Dequantize.self, [.any("table"), .any("scale"), .optional("zero")]).shared.captured("dequantized"), .any("ids"),
        ]) { $0.axis == 0 }
    }

    func check(_ match: Match, in editor: GraphEditor) throws {
        guard editor.isConstantExpression(try match["table"]) else { throw RuleMismatch("the table is no constant", isNearMiss: false) }
        guard try axis(match, editor) != 0 || !runsAlongRows("zero", match, editor) else {
            throw RuleMismatch("the table has a zero point per row")
        }
    }

    private func axis(_ match: Match, _ editor: GraphEditor) throws -> Int {
        guard let op = editor.op(try match["dequantized"]) as? Dequantize else { throw RuleMismatch("no dequantize") }
        return op.axis < 0 ? op.axis + editor.type(try match["table"]).rank : op.axis
    }

    private func runsAlongRows(_ capture: String, _ match: Match, _ editor: GraphEditor) -> Bool {
        guard let dims = match.optional(capture).map({ editor.type($0).dims }) else { return false }
        return dims.count == 1 && dims != [1]
    }

    func rewrite(_ match: Match, in editor: inout GraphEditor) throws -> ValueID {
        let name = editor.name(match)
        let (table, scale, ids) = (try match["table"], try match["scale"], try match["ids"])
        let axis = try axis(match, editor)
        let rows = try editor.add(Gather(axis: 0), table, ids, name: name)
        if axis == 0, runsAlongRows("scale", match, editor) {
            var values = rows
            let dtype = editor.type(scale).dtype
            if let zero = match.optional("zero") {
                // One zero point for all rows: taken off with a scale of 1.
                let one = editor.addConstant(try Tensor(doubles: [1], dtype: dtype, shape: []))
                values = try editor.add(Dequantize(axis: 0), values, one, zero, name: name)
            } else {
                values = try editor.add(Cast(to: dtype), values, name: name)
            }
            let factors = try editor.add(Gather(axis: 0), scale, ids, name: name)
            let missing = editor.type(table).rank - 1
            let placed = missing == 0 ? factors : try editor.add(ExpandDims(axes: (1...missing).map { -$0 }), factors, name: name)
            return try editor.add(Binary(.mul), values, placed, name: name)
        }
        // The axis moves by the dims that the ids put in the place of one.
        let moved = runsAlongRows("scale", match, editor) || runsAlongRows("zero", match, editor) ? axis - 1 + editor.type(ids).rank : 0
        return try editor.add(Dequantize(axis: moved), rows, scale, match.optional("zero"), name: name)
    }
}

/// An embedding table of 16-bit floats stays one: only the rows that are looked up are converted.
///
///     gather(cast(table), ids)     =>     cast(gather(table, ids))
struct GatherOfCastFusion: RewriteRule {
    let name = "gather_cast"
    let nearMissThreshold = 3

    var pattern: Pattern {
        .node("gather", Gather.self, [Pattern.node("cast", Cast.self, [.any("table")]).shared.captured("converted"), .any("ids")]).captured("rows")
    }

    func check(_ match: Match, in editor: GraphEditor) throws {
        let table = try match["table"]
        guard editor.isConstantExpression(table), editor.type(table).dtype.size < editor.type(try match["converted"]).dtype.size else {
            throw RuleMismatch("the table is not stored in a shorter type", isNearMiss: false)
        }
    }

    func rewrite(_ match: Match, in editor: inout GraphEditor) throws -> ValueID {
        guard let gather = editor.op(try match["rows"]) as? Gather else { throw RuleMismatch("no gather") }
        let rows = try editor.add(gather, try match["table"], try match["ids"], name: editor.name(match))
        return try editor.add(Cast(to: editor.type(try match["converted"]).dtype), rows, name: editor.name(match))
    }
}
