import GraphIR
import Operators
import Tensors

/// Matrix products.
let productRules: [String: OperatorTable.Rule] = [
    "MatMul": { n in try product(&n, n.input(0), n.input(1)) { n, operands in (MatMul(), operands) } },
    "Gemm": gemm,
]

/// A product in numpy's sense: a vector is a row on the left and a column on the right, and the dim that this adds is removed again.
///
/// - Parameter make: The operator, and its operands for two matrices.
func product<Op: Operator>(
    _ n: inout NodeLowering, _ a: ValueID, _ b: ValueID, _ make: (inout NodeLowering, [ValueID?]) throws -> (Op, [ValueID?])
) throws {
    guard n.rank(a) > 0, n.rank(b) > 0 else { throw n.error(.shapeMismatch, "matrix product of a scalar") }
    let isRow = n.rank(a) == 1
    let isColumn = n.rank(b) == 1
    let left = isRow ? try n.apply(ExpandDims(axes: [0]), a) : a
    let right = isColumn ? try n.apply(ExpandDims(axes: [1]), b) : b
    let (op, operands) = try make(&n, [left, right])
    guard isRow || isColumn else { return try n.result(op, operands) }
    let matrix = try n.apply(op, operands)
    try n.result(Squeeze(axes: (isRow ? [-2] : []) + (isColumn ? [-1] : [])), matrix)
}

/// alpha A' B' + beta C, with C broadcast to the product.
private func gemm(_ n: inout NodeLowering) throws {
    let a = try n.input(0)
    let b = try n.input(1)
    guard n.rank(a) == 2, n.rank(b) == 2 else { throw n.error(.shapeMismatch, "takes matrices, not ranks \(n.rank(a)) and \(n.rank(b))") }
    let alpha = try n.float("alpha", default: 1)
    let beta = try n.float("beta", default: 1)
    let op = try MatMul(transposeA: n.flag("transA"), transposeB: n.flag("transB"))
    let addend = beta == 0 ? nil : n.optionalInput(2)
    if addend == nil, alpha == 1 { return try n.result(op, a, b) }
    var product = try n.apply(op, a, b)
    if alpha != 1 {
        let factor = try n.scalar(Double(alpha), like: a)
        if addend == nil { return try n.result(Binary(.mul), product, factor) }
        product = try n.binary(.mul, product, factor)
    }
    guard var addend else { return n.define(product) }
    if beta != 1 { addend = try n.binary(.mul, addend, n.scalar(Double(beta), like: a)) }
    try n.result(Binary(.add), product, addend)
}
