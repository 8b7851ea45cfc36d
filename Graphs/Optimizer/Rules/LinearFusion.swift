import GraphIR
import Operators
import Tensors

/// A product with a weight.
///
///     matmul(x, weight)     =>     linear(x, weight)
struct LinearFusion: RewriteRule {
    let name = "linear"
    let nearMissThreshold = 2

    var pattern: Pattern {
        .node("matmul", MatMul.self, [.any("x"), .any("weight")]) { !$0.transposeA }.captured("product")
    }

    func check(_ match: Match, in editor: GraphEditor) throws {
        let (x, weight) = (try match["x"], try match["weight"])
        guard editor.isConstantExpression(weight), !editor.isConstantExpression(x) else {
            throw RuleMismatch("the second operand is no weight", isNearMiss: false)
        }
        guard editor.type(weight).dtype.isFloat else { throw RuleMismatch("a weight of type \(editor.type(weight).dtype.rawValue)") }
        guard editor.type(weight).rank == 2 else { throw RuleMismatch("the weight has rank \(editor.type(weight).rank), not 2") }
    }

    func rewrite(_ match: Match, in editor: inout GraphEditor) throws -> ValueID {
        let isTransposed = (editor.op(try match["product"]) as? MatMul)?.transposeB ?? false
        return try editor.add(
            Linear(layout: isTransposed ? .output_input : .input_output), try match["x"], try match["weight"], name: editor.name(match))
    }
}

/// The bias behind a linear, perhaps behind a residual too.
///
///     linear(x, weight) + bias                =>     linear(x, weight, bias)
///     (linear(x, weight) + residual) + bias   =>     linear(x, weight, bias) + residual
struct LinearBiasFusion: RewriteRule {
    let name = "linear_bias"
    let nearMissThreshold = 3

    var pattern: Pattern {
        let linear = Pattern.linear(.any("x"), .any("weight"), bias: .absent, residual: .absent) { $0.activation == .none }
        return .either([.add(linear, .any("bias")), .add(.add(linear, .any("residual")), .constant("bias"))])
    }

    func check(_ match: Match, in editor: GraphEditor) throws {
        let bias = try match["bias"]
        guard editor.isConstantExpression(bias) else { throw RuleMismatch("the addend is no constant", isNearMiss: false) }
        guard biasDims(match, in: editor) != nil else { throw RuleMismatch("the addend is \(editor.type(bias)), not a bias") }
    }

    private func biasDims(_ match: Match, in editor: GraphEditor) -> [Dim]? {
        guard let bias = match.optional("bias"), let linear = match.optional("linear"), let width = editor.type(linear).dims.last else { return nil }
        let dims = editor.type(bias).dims
        guard dims.last == width, dims.dropLast().allSatisfy({ $0 == 1 }), dims.count <= editor.type(linear).rank else { return nil }
        return [width]
    }

    func rewrite(_ match: Match, in editor: inout GraphEditor) throws -> ValueID {
        var bias = try match["bias"]
        if let dims = biasDims(match, in: editor), editor.type(bias).rank > 1 {
            bias = try editor.add(Reshape(), bias, try editor.addDims(dims, name: editor.name(match)), name: editor.name(match))
        }
        let linear = try editor.add(try editor.linear(match), try match["x"], try match["weight"], bias, name: editor.name(match))
        guard let residual = match.optional("residual") else { return linear }
        return try editor.add(Binary(.add), linear, residual, name: editor.name(match))
    }
}

/// The activation behind a linear.
///
///     gelu(linear(x, weight, bias))     =>     linear{gelu}(x, weight, bias)
struct LinearActivationFusion: RewriteRule {
    let name = "linear_activation"
    let nearMissThreshold = 3

    var pattern: Pattern {
        .node(
            "activation", Unary.self,
            [.linear(.any("x"), .any("weight"), bias: .optional("bias"), residual: .absent) { $0.activation == .none }]
        ) { Activation($0) != nil }.captured("activated")
    }

    func check(_ match: Match, in editor: GraphEditor) throws {}

    func rewrite(_ match: Match, in editor: inout GraphEditor) throws -> ValueID {
        guard let activation = (editor.op(try match["activated"]) as? Unary).flatMap(Activation.init) else { throw RuleMismatch("no activation") }
        let op = Linear(layout: try editor.linear(match).layout, activation: activation)
        return try editor.add(op, try match["x"], try match["weight"], match.optional("bias"), name: editor.name(match))
    }
}

/// The residual connection behind a linear.
///
///     linear(x, weight, bias) + residual     =>     linear(x, weight, bias, residual)
struct LinearResidualFusion: RewriteRule {
    let name = "linear_residual"
    let nearMissThreshold = 3

    var pattern: Pattern {
        .add(.linear(.any("x"), .any("weight"), bias: .optional("bias"), residual: .absent) { _ in true }, .any("residual"))
    }

    func check(_ match: Match, in editor: GraphEditor) throws {
        let (linear, residual) = (try match["linear"], try match["residual"])
        guard editor.type(residual).dims == editor.type(linear).dims, !editor.isConstantExpression(residual) else {
            throw RuleMismatch("the addend is \(editor.type(residual)), not a residual", isNearMiss: false)
        }
    }

    func rewrite(_ match: Match, in editor: inout GraphEditor) throws -> ValueID {
        try editor.add(
            try editor.linear(match), try match["x"], try match["weight"], match.optional("bias"), try match["residual"], name: editor.name(match))
    }
}

extension Pattern {
    /// A linear, captured under that name, and its operands.
    fileprivate static func linear(
        _ x: Pattern, _ weight: Pattern, bias: Pattern, residual: Pattern, where accepts: @escaping @Sendable (Linear) -> Bool
    ) -> Pattern {
        node("linear", Linear.self, [x, weight, bias, residual], where: accepts).captured("linear")
    }
}

extension GraphEditor {
    fileprivate func linear(_ match: Match) throws -> Linear {
        guard let op = op(try match["linear"]) as? Linear else { throw RuleMismatch("no linear") }
        return op
    }
}

extension Activation {
    /// The activation that an operator of its own computes.
    init?(_ unary: Unary) {
        guard let match = Self.allCases.first(where: { $0.unary == unary }) else { return nil }
        self = match
    }
}
