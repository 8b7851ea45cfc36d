import GraphIR
import Operators

/// The exact Gaussian error linear unit (Hendrycks and Gimpel, 2016) spelled out, in any order of its factors.
///
///     x * (erf(x / sqrt(2)) + 1) * 0.5     =>     gelu(x)
struct GeluFusion: RewriteRule {
    let name = "gelu"
    let nearMissThreshold = 3

    var pattern: Pattern {
        let x = Pattern.any("x")
        return .halfProduct(x, .add(.unary(.erf, .scaled(x, by: 0.5.squareRoot())), .scalar(1)))
    }

    func rewrite(_ match: Match, in editor: inout GraphEditor) throws -> ValueID {
        try editor.add(Unary(.gelu), try match["x"], name: editor.name(match))
    }
}

/// The approximation of gelu by a hyperbolic tangent.
///
///     x * 0.5 * (1 + tanh(sqrt(2 / pi) * (x + 0.044715 * x ^ 3)))     =>     gelu_tanh(x)
struct GeluTanhFusion: RewriteRule {
    let name = "gelu_tanh"
    let nearMissThreshold = 4

    var pattern: Pattern {
        let x = Pattern.any("x")
        let slope = (2 / Double.pi).squareRoot()
        let square = Pattern.either([.mul(x, x), .pow(x, .scalar(2))])
        let cube = Pattern.either([.pow(x, .scalar(3)), .mul(square, x)])
        let cubic = Pattern.either([.mul(cube, .scalar(0.044715)), .mul(.mul(x, .scalar(0.044715)), square), .mul(.mul(.mul(x, .scalar(0.044715)), x), x)])
        // Or with x taken out of the sum.
        let factor = Pattern.add(.mul(square, .scalar(0.044715)), .scalar(1))
        let stepwise = Pattern.add(.mul(.mul(x, .scalar(0.044715)), x), .scalar(1))
        let argument = Pattern.either([
            .mul(.add(x, cubic), .scalar(slope)),
            .mul(.mul(x, .scalar(slope)), .either([factor, stepwise])),
            .mul(.mul(x, .either([factor, stepwise])), .scalar(slope)),
        ])
        return .halfProduct(x, .add(.unary(.tanh, argument), .scalar(1)))
    }

    func rewrite(_ match: Match, in editor: inout GraphEditor) throws -> ValueID {
        try editor.add(Unary(.gelu_tanh), try match["x"], name: editor.name(match))
    }
}

/// The sigmoid linear unit.
///
///     x * sigmoid(x)     =>     silu(x)
struct SiluFusion: RewriteRule {
    let name = "silu"
    let nearMissThreshold = 3

    var pattern: Pattern { .mul(.unary(.sigmoid, .any("x")), .any("x")) }

    func rewrite(_ match: Match, in editor: inout GraphEditor) throws -> ValueID {
        try editor.add(Unary(.silu), try match["x"], name: editor.name(match))
    }
}

extension Pattern {
    /// The product of a, b and one half, in any order.
    fileprivate static func halfProduct(_ a: Pattern, _ b: Pattern) -> Pattern {
        .either([
            .scaled(.mul(b, a), by: 0.5),
            .mul(.scaled(b, by: 0.5), a),
            .mul(b, .scaled(a, by: 0.5)),
        ])
    }
}
