import GraphIR
import Operators
import Tensors

/// Weight-only quantisation spelled out: the weight stays 8-bit in the graph, and kernels may read it so.
///
///     (cast(q) - zero) * scale     =>     dequantize(q, scale, zero)
struct DequantizeFusion: RewriteRule {
    let name = "dequantize"
    let nearMissThreshold = 3

    var pattern: Pattern {
        let cast = Pattern.node("cast", Cast.self, [.constant("q")]).shared
        return .mul(.either([.sub(cast, .constant("zero")), cast]), .constant("scale")).captured("product")
    }

    func check(_ match: Match, in editor: GraphEditor) throws {
        let (q, product) = (editor.type(try match["q"]), editor.type(try match["product"]))
        guard q.dtype == .i8 || q.dtype == .u8, product.dtype.isFloat, product.dims == q.dims else {
            throw RuleMismatch("no 8-bit weight", isNearMiss: false)
        }
        guard axis(of: try match["scale"], in: editor, along: q) != nil else {
            throw RuleMismatch("the scale is \(editor.type(try match["scale"])): neither one number nor along one axis of \(q)")
        }
        if match.optional("zero") != nil, try zero(match, editor) == nil {
            throw RuleMismatch("the zero point is no \(q.dtype.rawValue) of the scale's shape")
        }
    }

    /// The one axis that a scale runs along; any for a single number.
    private func axis(of scale: ValueID, in editor: GraphEditor, along x: TensorType) -> Int? {
        let dims = editor.type(scale).dims
        let lead = x.rank - dims.count
        let axes = dims.indices.filter { dims[$0] != 1 }
        guard lead >= 0, axes.count <= 1 else { return nil }
        guard let axis = axes.first else { return 0 }
        return dims[axis] == x.dims[axis + lead] ? axis + lead : nil
    }

    /// The zero point in q's own type; nil where it does not fit.
    private func zero(_ match: Match, _ editor: GraphEditor) throws -> Tensor? {
        let q = editor.type(try match["q"])
        guard let constant = editor.constant(try match["zero"]), let scale = editor.constant(try match["scale"]) else { return nil }
        let stored = try constant.converted(to: q.dtype)
        guard stored.doubles() == constant.doubles(), stored.count == 1 || stored.shape == scale.shape else { return nil }
        return try stored.reshaped(stored.count == 1 ? [] : [stored.count])
    }

    func rewrite(_ match: Match, in editor: inout GraphEditor) throws -> ValueID {
        let (q, scale) = (try match["q"], try match["scale"])
        guard let axis = axis(of: scale, in: editor, along: editor.type(q)), let tensor = editor.constant(scale) else {
            throw RuleMismatch("the scale does not fit")
        }
        let vector = editor.addConstant(try tensor.reshaped(tensor.count == 1 ? [] : [tensor.count]), name: editor.graph[scale].name)
        let zero = match.optional("zero") == nil ? nil : try zero(match, editor)
        return try editor.add(
            Dequantize(axis: axis), q, vector, zero.map { editor.addConstant($0, name: "zero") }, name: editor.name(match))
    }
}
