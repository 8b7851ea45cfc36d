import GraphIR
import Operators
import Tensors

/// Activation functions; those that the graph has no word for are spelled out.
let activationRules: [String: OperatorTable.Rule] = [
    "Relu": { try unary(&$0, .relu) },
    "Tanh": { try unary(&$0, .tanh) },
    "Sigmoid": { try unary(&$0, .sigmoid) },
    "Softplus": { try unary(&$0, .softplus) },
    "Gelu": gelu,
    "Swish": swish,
    "LeakyRelu": leakyRelu,
    "PRelu": { try slopedRelu(&$0, slope: $0.input(1)) },
    "Elu": elu,
    "Selu": selu,
    "HardSigmoid": hardSigmoid,
    "HardSwish": hardSwish,
    "Mish": mish,
    "Softsign": softsign,
    "ThresholdedRelu": thresholdedRelu,
]

private func gelu(_ n: inout NodeLowering) throws {
    switch try n.string("approximate", default: "none") {
    case "none": try unary(&n, .gelu)
    case "tanh": try unary(&n, .gelu_tanh)
    case let other: throw n.unsupported("approximate = \"\(other)\"")
    }
}

/// x sigmoid(alpha x)
private func swish(_ n: inout NodeLowering) throws {
    let x = try n.input(0)
    let alpha = try n.float("alpha", default: 1)
    if alpha == 1 { return try n.result(Unary(.silu), x) }
    let scaled = try n.binary(.mul, x, n.scalar(Double(alpha), like: x))
    try n.result(Binary(.mul), x, n.apply(Unary(.sigmoid), scaled))
}

private func leakyRelu(_ n: inout NodeLowering) throws {
    let x = try n.input(0)
    try slopedRelu(&n, slope: n.scalar(Double(n.float("alpha", default: 0.01)), like: x))
}

/// x where it is positive, slope x elsewhere.
private func slopedRelu(_ n: inout NodeLowering, slope: ValueID) throws {
    let x = try n.input(0)
    let isNegative = try n.apply(Compare(.less), x, n.scalar(0, like: x))
    try n.result(Select(), isNegative, n.binary(.mul, x, slope), x)
}

/// x where it is positive, alpha (exp(x) - 1) elsewhere.
private func elu(_ n: inout NodeLowering) throws {
    try exponentialRelu(&n, alpha: n.float("alpha", default: 1), gamma: 1)
}

/// gamma times elu. The defaults are those of the specification (Klambauer et al., 2017).
private func selu(_ n: inout NodeLowering) throws {
    try exponentialRelu(&n, alpha: n.float("alpha", default: 1.673_263_2), gamma: n.float("gamma", default: 1.050_701))
}

private func exponentialRelu(_ n: inout NodeLowering, alpha: Float, gamma: Float) throws {
    let x = try n.input(0)
    let one = try n.scalar(1, like: x)
    let exponential = try n.binary(.sub, n.apply(Unary(.exp), x), one)
    let negative = try n.binary(.mul, exponential, n.scalar(Double(alpha) * Double(gamma), like: x))
    let positive = gamma == 1 ? x : try n.binary(.mul, x, n.scalar(Double(gamma), like: x))
    let isPositive = try n.apply(Compare(.greater), x, n.scalar(0, like: x))
    try n.result(Select(), isPositive, positive, negative)
}

/// max(0, min(1, alpha x + beta))
private func hardSigmoid(_ n: inout NodeLowering) throws {
    let x = try n.input(0)
    let line = try hardLine(&n, x, alpha: n.float("alpha", default: 0.2), beta: n.float("beta", default: 0.5))
    try n.result(Binary(.max), line, n.scalar(0, like: x))
}

/// x max(0, min(1, x / 6 + 1 / 2))
private func hardSwish(_ n: inout NodeLowering) throws {
    let x = try n.input(0)
    let line = try hardLine(&n, x, alpha: 1 / 6, beta: 0.5)
    try n.result(Binary(.mul), x, n.binary(.max, line, n.scalar(0, like: x)))
}

private func hardLine(_ n: inout NodeLowering, _ x: ValueID, alpha: Float, beta: Float) throws -> ValueID {
    let scaled = try n.binary(.mul, x, n.scalar(Double(alpha), like: x))
    let shifted = try n.binary(.add, scaled, n.scalar(Double(beta), like: x))
    return try n.binary(.min, shifted, n.scalar(1, like: x))
}

/// x tanh(softplus(x))
private func mish(_ n: inout NodeLowering) throws {
    let x = try n.input(0)
    try n.result(Binary(.mul), x, n.apply(Unary(.tanh), n.apply(Unary(.softplus), x)))
}

/// x / (1 + |x|)
private func softsign(_ n: inout NodeLowering) throws {
    let x = try n.input(0)
    try n.result(Binary(.div), x, n.binary(.add, n.apply(Unary(.abs), x), n.scalar(1, like: x)))
}

/// x where it is above alpha, 0 elsewhere.
private func thresholdedRelu(_ n: inout NodeLowering) throws {
    let x = try n.input(0)
    let isAbove = try n.apply(Compare(.greater), x, n.scalar(Double(n.float("alpha", default: 1)), like: x))
    try n.result(Select(), isAbove, x, n.scalar(0, like: x))
}
