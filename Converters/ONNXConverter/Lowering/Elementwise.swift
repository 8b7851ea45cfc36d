import GraphIR
import Operators
import Tensors

/// Arithmetic, comparisons, logic and conversions, element by element.
let elementwiseRules: [String: OperatorTable.Rule] = [
    "Add": { try binary(&$0, .add) },
    "Sub": { try binary(&$0, .sub) },
    "Mul": { try binary(&$0, .mul) },
    "Div": { try binary(&$0, .div) },
    "Pow": { try binary(&$0, .pow) },
    "And": { try binary(&$0, .and) },
    "Or": { try binary(&$0, .or) },
    "Xor": { try binary(&$0, .xor) },
    "BitwiseAnd": { try binary(&$0, .and) },
    "BitwiseOr": { try binary(&$0, .or) },
    "BitwiseXor": { try binary(&$0, .xor) },
    "Mod": mod,
    "Min": { try variadic(&$0, .min) },
    "Max": { try variadic(&$0, .max) },
    "Sum": { try variadic(&$0, .add) },
    "Mean": mean,
    "Equal": { try compare(&$0, .equal) },
    "Less": { try compare(&$0, .less) },
    "LessOrEqual": { try compare(&$0, .less_equal) },
    "Greater": { try compare(&$0, .greater) },
    "GreaterOrEqual": { try compare(&$0, .greater_equal) },
    "Abs": { try unary(&$0, .abs) },
    "Neg": { try unary(&$0, .neg) },
    "Sign": { try unary(&$0, .sign) },
    "Floor": { try unary(&$0, .floor) },
    "Ceil": { try unary(&$0, .ceil) },
    "Round": { try unary(&$0, .round) },
    "Exp": { try unary(&$0, .exp) },
    "Log": { try unary(&$0, .log) },
    "Sqrt": { try unary(&$0, .sqrt) },
    "Reciprocal": { try unary(&$0, .reciprocal) },
    "Sin": { try unary(&$0, .sin) },
    "Cos": { try unary(&$0, .cos) },
    "Erf": { try unary(&$0, .erf) },
    "Not": { try unary(&$0, .not) },
    "IsNaN": { try unary(&$0, .is_nan) },
    "IsInf": isInf,
    "Where": { try $0.result(Select(), $0.input(0), $0.input(1), $0.input(2)) },
    "Clip": clip,
    "Cast": cast,
    "CastLike": castLike,
    "Identity": { $0.define(try $0.input(0)) },
    "Dropout": dropout,
]

func unary(_ n: inout NodeLowering, _ kind: Unary.Kind) throws {
    try n.result(Unary(kind), n.input(0))
}

private func binary(_ n: inout NodeLowering, _ kind: Binary.Kind) throws {
    try n.result(Binary(kind), n.input(0), n.input(1))
}

private func compare(_ n: inout NodeLowering, _ kind: Compare.Kind) throws {
    try n.result(Compare(kind), n.input(0), n.input(1))
}

private func variadic(_ n: inout NodeLowering, _ kind: Binary.Kind) throws {
    let inputs = try n.variadicInputs()
    guard inputs.count > 1 else { return n.define(inputs[0]) }
    var total = inputs[0]
    for input in inputs[1..<(inputs.count - 1)] { total = try n.binary(kind, total, input) }
    try n.result(Binary(kind), total, inputs[inputs.count - 1])
}

private func mean(_ n: inout NodeLowering) throws {
    let inputs = try n.variadicInputs()
    var total = inputs[0]
    for input in inputs.dropFirst() { total = try n.binary(.add, total, input) }
    try n.result(Binary(.div), total, n.scalar(Double(inputs.count), like: total))
}

private func mod(_ n: inout NodeLowering) throws {
    try binary(&n, n.flag("fmod") ? .fmod : .mod)
}

private func isInf(_ n: inout NodeLowering) throws {
    let x = try n.input(0)
    switch (try n.flag("detect_negative", default: true), try n.flag("detect_positive", default: true)) {
    case (true, true): try n.result(Unary(.is_inf), x)
    case (true, false): try n.result(Compare(.equal), x, n.scalar(-.infinity, like: x))
    case (false, true): try n.result(Compare(.equal), x, n.scalar(.infinity, like: x))
    case (false, false): throw n.unsupported("detection of no infinity at all")
    }
}

/// Bounds are attributes before version 11, then optional inputs.
private func clip(_ n: inout NodeLowering) throws {
    let x = try n.input(0)
    var low = n.optionalInput(1)
    var high = n.optionalInput(2)
    if n.opset < 11 {
        low = try n.float("min").map { try n.scalar(Double($0), like: x) }
        high = try n.float("max").map { try n.scalar(Double($0), like: x) }
    }
    switch (low, high) {
    case (nil, nil): n.define(x)
    case (let low?, nil): try n.result(Binary(.max), x, low)
    case (nil, let high?): try n.result(Binary(.min), x, high)
    case (let low?, let high?): try n.result(Binary(.min), n.binary(.max, x, low), high)
    }
}

/// Saturation and rounding modes are those of 8-bit floats only.
private func castLike(_ n: inout NodeLowering) throws {
    n.ignore("saturate", "round_mode")
    try n.result(Cast(to: n.dtype(n.input(1))), n.input(0))
}

private func cast(_ n: inout NodeLowering) throws {
    n.ignore("saturate", "round_mode")
    let x = try n.input(0)
    let target = try n.dtype(code: n.requiredInt("to"))
    if n.dtype(x) == target { n.define(x) } else { try n.result(Cast(to: target), x) }
}

/// Outside of training nothing is dropped; the mask is all true.
private func dropout(_ n: inout NodeLowering) throws {
    n.ignore("ratio", "seed")
    let x = try n.input(0)
    if n.opset >= 12, let training = n.optionalInput(2) {
        guard n.builder.fact(training).value?.fixedValues == [0] else { throw n.unsupported("training mode") }
    }
    n.define(x)
    guard n.isUsed(output: 1) else { return }
    let isTrue = n.builder.constant(try Tensor(bools: [true], shape: []))
    try n.result(Fill(), n.sizes(x, 0..<n.rank(x)), isTrue, output: 1)
}
