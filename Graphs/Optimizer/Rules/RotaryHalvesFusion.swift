import GraphIR
import Operators
import Tensors

/// Rotary position embedding spelled out pair by pair (Su et al., 2021), on tokens before their heads.
///
///     cosines, sines = cos(positions * frequencies), sin(...)      [batch, sequence, 1, pairs] each
///     a, b = x[first half], x[second half]
///     concat(cosines * a - sines * b, sines * a + cosines * b)     =>     rotary_embedding(x, positions, frequencies)
struct RotaryHalvesFusion: RewriteRule {
    let name = "rotary_embedding_halves"
    let nearMissThreshold = 7

    var pattern: Pattern {
        func half(_ index: Int) -> Pattern {
            Pattern.node("slice", Slice.self, [.any("x"), .any("start \(index)"), .any("end \(index)"), .optional("step \(index)")])
                .captured("half \(index)").shared
        }
        let real = Pattern.sub(.mul(.any("cosines"), half(1)), .mul(.any("sines"), half(2)))
        let imaginary = Pattern.add(.mul(.any("sines"), half(1)), .mul(.any("cosines"), half(2)))
        return Pattern.node("concat", Concat.self, [real, imaginary]).captured("joined")
    }

    func check(_ match: Match, in editor: GraphEditor) throws {
        let x = editor.type(try match["x"])
        guard x.rank == 4, x.dtype == .f32, let width = x.dims[3].fixedValue, width >= 2, width.isMultiple(of: 2) else {
            throw RuleMismatch("the input is \(x), not f32 heads of an even width")
        }
        guard let concat = editor.op(try match["joined"]) as? Concat, concat.axis == 3 || concat.axis == -1 else {
            throw RuleMismatch("the halves are not joined along the width")
        }
        for index in 1...2 { try editor.checkHalf(match, index, of: x, width: width) }
        _ = try RotaryAngles(match, in: editor, tokenAxis: 1, perPair: true)
    }

    func rewrite(_ match: Match, in editor: inout GraphEditor) throws -> ValueID {
        let angles = try RotaryAngles(match, in: editor, tokenAxis: 1, perPair: true)
        let frequencies = editor.addConstant(try Tensor(floats: angles.frequencies, shape: [angles.frequencies.count]), name: "frequencies")
        return try editor.add(RotaryEmbedding(factor: angles.factor), try match["x"], angles.positions, frequencies, name: editor.name(match))
    }
}

extension GraphEditor {
    /// Half `index` (1 or 2) of a match is that half of the last dimension.
    ///
    /// - Throws: `RuleMismatch`.
    func checkHalf(_ match: Match, _ index: Int, of x: TensorType, width: Int) throws {
        let low = index == 1 ? 0 : width / 2
        guard let slice = op(try match["half \(index)"]) as? Slice, slice.axes == [3] || slice.axes == [-1],
            type(try match["half \(index)"]).dims[3] == .fixed(width / 2),
            let start = fact(try match["start \(index)"]).value?.fixedValues?.first, start == low || start == low - width && low > 0,
            match.optional("step \(index)").map({ fact($0).value?.fixedValues == [1] }) ?? true
        else { throw RuleMismatch("half \(index) is not cut out of the width") }
    }
}
