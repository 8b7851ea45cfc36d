import GraphIR
import Operators

/// A transposed second factor, read in place.
///
///     matmul(a, transpose(b))     =>     matmul{transposeB}(a, b)
struct MatMulTransposeFusion: RewriteRule {
    let name = "matmul_transpose"
    let nearMissThreshold = 3

    var pattern: Pattern {
        .node("matmul", MatMul.self, [
            .any("a"), Pattern.node("transpose", Transpose.self, [.any("b")]) { $0.exchangesLastTwo }.shared,
        ]).captured("product")
    }

    func rewrite(_ match: Match, in editor: inout GraphEditor) throws -> ValueID {
        guard let op = editor.op(try match["product"]) as? MatMul else { throw RuleMismatch("no matmul") }
        return try editor.add(
            MatMul(transposeA: op.transposeA, transposeB: !op.transposeB), try match["a"], try match["b"], name: editor.name(match))
    }
}

extension Transpose {
    /// Exchanges the last two dims and keeps the others in place.
    var exchangesLastTwo: Bool {
        let rank = permutation.count
        return rank >= 2 && permutation == Array(0..<rank - 2) + [rank - 1, rank - 2]
    }
}
