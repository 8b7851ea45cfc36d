import GraphIR
import Operators
import Tensors

/// Grouped-query attention whose key and value heads are repeated, one copy for each query head of the group (Ainslie et al., 2023).
///
///     repeated = reshape(expand(k [batch, kv_heads, 1, keys, width]))        and v alike
///     scaled_dot_product_attention(q, repeated, ...)     =>     scaled_dot_product_attention(q, k, v, mask)
struct GroupedHeadFusion: RewriteRule {
    let name = "grouped_heads"
    let nearMissThreshold = 5

    var pattern: Pattern {
        func repeated(_ name: String) -> Pattern {
            let inserted = Pattern.either([
                Pattern.node("expand_dims", ExpandDims.self, [.any(name)]).captured("\(name) inserted").shared,
                Pattern.node("reshape", Reshape.self, [.any(name), .any("\(name) shape")]).captured("\(name) inserted").shared,
            ])
            let expanded = Pattern.node("expand", Expand.self, [inserted, .any("\(name) sizes")]).captured("\(name) expanded").shared
            return Pattern.node("reshape", Reshape.self, [expanded, .any("\(name) merged shape")]).captured("\(name) repeated").shared
        }
        return .node("attention", ScaledDotProductAttention.self, [.any("q"), repeated("k"), repeated("v"), .optional("mask")]).captured("attention")
    }

    func check(_ match: Match, in editor: GraphEditor) throws {
        for name in ["k", "v"] {
            let source = editor.type(try match[name]).dims
            let inserted = editor.type(try match["\(name) inserted"]).dims
            let expanded = editor.type(try match["\(name) expanded"]).dims
            let repeated = editor.type(try match["\(name) repeated"]).dims
            guard source.count == 4, expanded.count == 5, repeated.count == 4 else { throw RuleMismatch("\(name) is no repeated heads", isNearMiss: false) }
            // [batch, kv_heads, copies, keys, width]: each head's copies side by side.
            guard let heads = source[1].fixedValue, let copies = expanded[2].fixedValue, let all = repeated[1].fixedValue, heads > 0,
                all.isMultiple(of: heads), all / heads == copies, inserted.count == 5, inserted[1] == source[1], inserted[2] == 1,
                expanded[0] == source[0], expanded[1] == source[1], Array(expanded[3...]) == Array(source[2...]),
                repeated[0] == source[0], Array(repeated[2...]) == Array(source[2...])
            else { throw RuleMismatch("the heads of \(name) are not repeated one by one") }
        }
    }

    func rewrite(_ match: Match, in editor: inout GraphEditor) throws -> ValueID {
        guard let op = editor.op(try match["attention"]) as? ScaledDotProductAttention else { throw RuleMismatch("no attention") }
        return try editor.add(op, try match["q"], try match["k"], try match["v"], match.optional("mask"), name: editor.name(match))
    }
}
