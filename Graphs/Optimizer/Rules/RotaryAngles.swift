import Foundation
import GraphIR
import Operators
import Tensors

/// The positions and frequencies behind the cosines and sines of a rotary embedding.
struct RotaryAngles {
    /// i64, `[batch, sequence]` or `[1, sequence]`.
    let positions: ValueID
    /// Radians per position, one for each pair.
    let frequencies: [Float]
    /// What cosines and sines are multiplied by.
    let factor: Float

    /// - Parameters:
    ///   - match: With `x`, `cosines` and `sines`.
    ///   - tokenAxis: The dimension of x that is the sequence.
    ///   - perPair: Cosines and sines stand once for each pair, not once for each element.
    /// - Throws: `RuleMismatch` where they are something else.
    init(_ match: Match, in editor: GraphEditor, tokenAxis: Int, perPair: Bool) throws {
        let x = editor.type(try match["x"])
        let (cosines, sines) = (try match["cosines"], try match["sines"])
        guard let pairs = x.dims[3].fixedValue.map({ $0 / 2 }) else { throw RuleMismatch("the width of the heads is not known") }
        let width = perPair ? pairs : 2 * pairs
        let dims = editor.type(cosines).dims
        guard dims.count >= 4 - tokenAxis, dims[dims.count - (4 - tokenAxis)] == x.dims[tokenAxis], editor.type(sines).dims == dims else {
            throw RuleMismatch("cosines \(editor.type(cosines)) and sines \(editor.type(sines)) do not run along the tokens of \(x)")
        }
        let sources = Self.sources(of: [cosines, sines], in: editor)
        guard sources.positions.count == 1, let positions = sources.positions.first, editor.type(positions).dtype == .i64,
            editor.type(positions).dims == [x.dims[0], x.dims[tokenAxis]] || editor.type(positions).dims == [1, x.dims[tokenAxis]]
        else { throw RuleMismatch("the angles do not follow from one position for each token") }

        // Sizes are free; positions as a long text has them.
        let probe: [Int64] = [0, 1, 2, 3, 10, 100, 1000, 4000]
        var symbols: [String: Int] = [:]
        for symbol in editor.graph.inputSymbols { symbols[symbol] = 1 }
        guard let sequence = x.dims[tokenAxis].symbolName else { throw RuleMismatch("the number of tokens is \(x.dims[tokenAxis])") }
        symbols[sequence] = probe.count
        guard let rows = try editor.type(positions).dims[0].evaluate(symbols), rows == 1 else { throw RuleMismatch("the batch is \(x.dims[0])") }
        var evaluator = SubgraphEvaluator(
            editor.graph, definition: { editor.definition($0).flatMap { editor.node($0) } }, symbols: symbols,
            values: [positions: try Tensor(integers: probe, shape: [1, probe.count])])
        let (cosine, sine) = (try evaluator.evaluate(cosines), try evaluator.evaluate(sines))
        guard cosine.shape.filter({ $0 != 1 }) == [probe.count, width].filter({ $0 != 1 }), sine.shape == cosine.shape else {
            throw RuleMismatch("cosines of shape \(cosine.shape) do not fit the heads \(x)")
        }
        let (c, s) = (cosine.floats(), sine.floats())
        // At position 0 every cosine is the factor.
        guard let factor = c.first, factor > 0, factor.isFinite else { throw RuleMismatch("the cosine at position 0 is no positive number") }
        for constant in sources.constants where constant.count == pairs {
            let frequencies = constant.floats()
            let fits = c.indices.allSatisfy { index in
                let angle = Double(Float(probe[index / width]) * frequencies[index % width % pairs])
                return abs(Double(c[index]) - Double(factor) * cos(angle)) < 1e-5 && abs(Double(s[index]) - Double(factor) * sin(angle)) < 1e-5
            }
            guard fits else { continue }
            self.positions = positions
            self.frequencies = frequencies
            self.factor = factor
            return
        }
        throw RuleMismatch("no constant has the frequencies of the angles")
    }

    /// The whole numbers and the small float constants that values are made of.
    private static func sources(of values: [ValueID], in editor: GraphEditor) -> (positions: Set<ValueID>, constants: [Tensor]) {
        var positions: Set<ValueID> = []
        var constants: [Tensor] = []
        var seen: Set<ValueID> = []
        var pending = values
        while let value = pending.popLast() {
            guard seen.insert(value).inserted else { continue }
            let type = editor.type(value)
            if let constant = editor.graph.constant(value) {
                if type.dtype.isFloat, constant.count <= 4096 { constants.append(constant) }
                continue
            }
            if type.dtype.isInteger {
                // A shape is no position; nor is the same number in another layout.
                if editor.op(value) is Dims { continue }
                let isLayout = editor.op(value) is Reshape || editor.op(value) is ExpandDims || editor.op(value) is Squeeze || editor.op(value) is Cast
                guard isLayout, let source = editor.inputs(value).first ?? nil else {
                    positions.insert(value)
                    continue
                }
                pending.append(source)
                continue
            }
            pending += editor.inputs(value).compactMap { $0 }
        }
        return (positions, constants)
    }
}
