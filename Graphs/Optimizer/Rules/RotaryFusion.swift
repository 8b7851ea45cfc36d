import GraphIR
import Operators
import Tensors

/// Rotary position embedding spelled out in arithmetic (Su et al., 2021), on heads before their tokens.
///
///     cosines, sines = cos(positions * frequencies), sin(...)      [batch, 1, sequence, width] each
///     x * cosines + concat(-x[second half], x[first half]) * sines
///
///     =>     transpose(rotary_embedding(transpose(x), positions, frequencies))
///
/// Which positions and frequencies make the cosines and sines is found by evaluating these, not by how they are spelled.
struct RotaryFusion: RewriteRule {
    let name = "rotary_embedding"
    let nearMissThreshold = 6

    var pattern: Pattern {
        let first = Pattern.node("slice", Slice.self, [.any("x"), .any("start 1"), .any("end 1"), .optional("step 1")]).captured("half 1")
        let second = Pattern.node("slice", Slice.self, [.any("x"), .any("start 2"), .any("end 2"), .optional("step 2")]).captured("half 2")
        let turned = Pattern.node("concat", Concat.self, [.unary(.neg, second), first]).captured("turned")
        return .add(.mul(.any("x"), .any("cosines")), .mul(turned, .any("sines")))
    }

    func check(_ match: Match, in editor: GraphEditor) throws {
        let x = editor.type(try match["x"])
        guard x.rank == 4, x.dtype == .f32, let width = x.dims[3].fixedValue, width >= 2, width.isMultiple(of: 2) else {
            throw RuleMismatch("the input is \(x), not f32 heads of an even width")
        }
        guard let concat = editor.op(try match["turned"]) as? Concat, concat.axis == 3 || concat.axis == -1 else {
            throw RuleMismatch("the halves are not joined along the width")
        }
        for index in 1...2 { try editor.checkHalf(match, index, of: x, width: width) }
        _ = try RotaryAngles(match, in: editor, tokenAxis: 2, perPair: false)
    }

    func rewrite(_ match: Match, in editor: inout GraphEditor) throws -> ValueID {
        let name = editor.name(match)
        let angles = try RotaryAngles(match, in: editor, tokenAxis: 2, perPair: false)
        let exchange = Transpose(permutation: [0, 2, 1, 3])
        let x = try editor.add(exchange, try match["x"], name: name)
        let frequencies = editor.addConstant(try Tensor(floats: angles.frequencies, shape: [angles.frequencies.count]), name: "frequencies")
        let result = try editor.add(RotaryEmbedding(factor: angles.factor), x, angles.positions, frequencies, name: name)
        return try editor.add(exchange, result, name: name)
    }
}
