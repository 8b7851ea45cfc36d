import GraphIR
import Operators
import Tensors

/// The beginning of an encoder:
///
///     gather(words, ids) + gather(positions, places) + gather(types, segments)      (in any order; one or two may be missing)
///     layer_norm(sum)                                                               (or with one of the rows as its residual)
///
///     =>     embedding(words, ids, positions, places, types, segments)              (the largest table first)
struct EmbeddingFusion: RewriteRule {
    let name = "embedding"
    let nearMissThreshold = 4

    private func row(_ number: Int) -> Pattern {
        let gather = Pattern.node("gather", Gather.self, [.any("table\(number)"), .any("ids\(number)")]) { $0.axis == 0 }
        return .either([gather, .node("cast", Cast.self, [gather]) { $0.to == .f32 }])
    }

    var pattern: Pattern {
        let two = Pattern.add(row(0), row(1))
        let three = Pattern.add(two, row(2))
        func norm(_ x: Pattern, _ residual: Pattern) -> Pattern {
            .layerNorm(x, scale: .optional("scale"), bias: .optional("bias"), residual: residual).captured("norm")
        }
        return .either([norm(three, .absent), norm(two, row(2)), norm(row(2), two), norm(two, .absent), norm(row(0), row(1)), norm(row(0), .absent)])
    }

    private func pairs(_ match: Match) -> [(table: ValueID, ids: ValueID)] {
        (0..<Embedding.tableCount).compactMap { number in
            guard let table = match.optional("table\(number)"), let ids = match.optional("ids\(number)") else { return nil }
            return (table, ids)
        }
    }

    func check(_ match: Match, in editor: GraphEditor) throws {
        let norm = editor.type(try match["norm"])
        guard let op = editor.op(try match["norm"]) as? LayerNorm, op.normalizedRank == 1, norm.dtype == .f32 else {
            throw RuleMismatch("the norm is \(norm), not f32 over its last dimension")
        }
        for capture in ["scale", "bias"] {
            guard let value = match.optional(capture) else { continue }
            guard editor.type(value).dims == norm.dims.suffix(1) else { throw RuleMismatch("the \(capture) is \(editor.type(value))") }
        }
        for (table, ids) in pairs(match) {
            let type = editor.type(table)
            guard editor.constant(table) != nil else { throw RuleMismatch("%\(editor.graph[table].name) is no table that stays the same") }
            guard type.rank == 2, [.f32, .f16, .bf16].contains(type.dtype) || type.dtype.isBlock else { throw RuleMismatch("a table is \(type)") }
            guard editor.type(ids).dtype == .i64 || editor.type(ids).dtype == .i32 else { throw RuleMismatch("ids are \(editor.type(ids))") }
        }
    }

    func rewrite(_ match: Match, in editor: inout GraphEditor) throws -> ValueID {
        guard let op = editor.op(try match["norm"]) as? LayerNorm else { throw RuleMismatch("no layer_norm") }
        func rows(_ table: ValueID) -> Int { editor.type(table).dims[0].fixedValue ?? 0 }
        let sorted = pairs(match).sorted { rows($0.table) > rows($1.table) }
        var inputs: [ValueID?] = sorted.flatMap { [$0.table, $0.ids] }
        inputs += Array(repeating: nil, count: 2 * Embedding.tableCount - inputs.count)
        return try editor.add(
            Embedding(epsilon: op.epsilon), inputs + [match.optional("scale"), match.optional("bias")], name: editor.name(match))
    }
}
