import GraphIR
import Operators
import Tensors

/// Quantised tensors and products of the standard domain.
let quantizationRules: [String: OperatorTable.Rule] = [
    "QuantizeLinear": quantizeLinear,
    "DequantizeLinear": dequantizeLinear,
    "DynamicQuantizeLinear": { try $0.resultAll(DynamicQuantize(), [$0.input(0)]) },
    "MatMulInteger": matMulInteger,
    "QLinearMatMul": qLinearMatMul,
]

/// onnxruntime's quantised operators.
let microsoftQuantizationRules: [String: OperatorTable.Rule] = [
    "QuantizeLinear": quantizeLinear,
    "DequantizeLinear": dequantizeLinear,
    "QLinearAdd": { try qLinearBinary(&$0, .add) },
    "QLinearMul": { try qLinearBinary(&$0, .mul) },
    "QLinearSoftmax": qLinearSoftmax,
    "QGemm": qGemm,
    "MatMulIntegerToFloat": matMulIntegerToFloat,
    "DynamicQuantizeMatMul": dynamicQuantizeMatMul,
]

private func quantizeLinear(_ n: inout NodeLowering) throws {
    n.ignore("saturate", "precision")
    try n.require("block_size", is: 0)
    let zero = n.optionalInput(2)
    let code = try n.int("output_dtype", default: 0)
    let dtype = try zero.map { n.dtype($0) } ?? (code == 0 ? .u8 : n.dtype(code: code))
    try n.result(Quantize(to: dtype, axis: n.int("axis", default: 1)), n.input(0), n.input(1), zero)
}

private func dequantizeLinear(_ n: inout NodeLowering) throws {
    let x = try n.input(0)
    let scale = try n.input(1)
    guard [.i8, .u8, .i32].contains(n.dtype(x)) else { throw n.error(.unsupportedType, "the quantised type \(n.dtype(x).rawValue) is not supported") }
    let code = try n.int("output_dtype", default: 0)
    if code != 0, try n.dtype(code: code) != n.dtype(scale) { throw n.unsupported("an output type other than the scale's") }
    let block = try n.int("block_size", default: 0)
    let axis = try n.int("axis", default: 1)
    guard block > 0, n.rank(scale) > 1 else {
        return try n.result(Dequantize(axis: axis), x, scale, n.optionalInput(2))
    }
    let position = try n.axis(axis, rank: n.rank(x))
    if let stored = try blocks(&n, x, scale, axis: position, block: block) { return n.define(stored) }
    // Each scale serves `block` neighbours along the axis: give every element its own.
    guard n.rank(scale) == n.rank(x), let size = n.type(x).dims[position].fixedValue, size <= 1 << 24 else {
        throw n.unsupported("scales of type \(n.type(scale)) in blocks for \(n.type(x))")
    }
    let indices = try n.integers((0..<size).map { $0 / block })
    var number = try n.cast(x, to: n.dtype(scale))
    if let zero = n.optionalInput(2) {
        let zeros = try n.apply(Gather(axis: position), n.cast(zero, to: n.dtype(scale)), indices)
        number = try n.binary(.sub, number, zeros)
    }
    try n.result(Binary(.mul), number, n.apply(Gather(axis: position), scale, indices))
}

/// A constant matrix as blocks along one of its axes, where they hold exactly its numbers.
private func blocks(_ n: inout NodeLowering, _ x: ValueID, _ scale: ValueID, axis: Int, block: Int) throws -> ValueID? {
    let zero = n.optionalInput(2)
    guard var q = n.builder.fact(x).constant, var scales = n.builder.fact(scale).constant, q.rank == 2, scales.rank == 2 else { return nil }
    var zeros = zero.flatMap { n.builder.fact($0).constant }
    guard (zero == nil) == (zeros == nil), zeros.map({ $0.shape == scales.shape && $0.dtype == q.dtype }) ?? true,
        q.shape[1 - axis] == scales.shape[1 - axis], block <= 1 << 40, scales.shape[axis] == (q.shape[axis] + block - 1) / block, q.dtype != .i32
    else { return nil }
    let transpose = Transpose(permutation: [1, 0])
    if axis == 0 {
        q = try transpose.evaluate(Inputs([q]))[0]
        scales = try transpose.evaluate(Inputs([scales]))[0]
        zeros = try zeros.map { try transpose.evaluate(Inputs([$0]))[0] }
    }
    let (width, perRow) = (q.shape[1], scales.shape[1])
    let offsets = zeros?.integers()
    let levels = q.integers().enumerated().map { index, number in
        Int16(number - (offsets?[index / width * perRow + index % width / block] ?? 0))
    }
    do {
        let weight = n.builder.constant(try Tensor(levels: levels, scales: scales.floats(), group: block, shape: q.shape), name: nil)
        let numbers = try n.apply(Cast(to: n.dtype(scale)), weight)
        return axis == 0 ? try n.apply(transpose, numbers) : numbers
    } catch let reason as TensorError {
        n.warn("blocks of DequantizeLinear become \(scales.dtype.rawValue): \(reason)")
        return nil
    }
}

private func matMulInteger(_ n: inout NodeLowering) throws {
    let (aZero, bZero) = (n.optionalInput(2), n.optionalInput(3))
    try product(&n, n.input(0), n.input(1)) { _, operands in (MatMulInteger(), operands + [aZero, bZero]) }
}

/// Exact integer product, then one rounding to the output's scale.
private func qLinearMatMul(_ n: inout NodeLowering) throws {
    let (aZero, bZero, zero) = (try n.input(2), try n.input(5), try n.input(7))
    let scale = try n.cast(n.input(6), to: .f32)
    try product(&n, n.input(0), n.input(3)) { n, operands in
        let exact = try n.apply(MatMulInteger(), operands + [aZero, bZero])
        let factor = try productScale(&n, n.input(1), n.input(4))
        let x = try n.binary(.mul, n.cast(exact, to: .f32), factor)
        return (Quantize(to: n.dtype(zero), axis: 1), [x, scale, zero])
    }
}

/// The scale of a product of quantised tensors, in f32.
private func productScale(_ n: inout NodeLowering, _ a: ValueID, _ b: ValueID) throws -> ValueID {
    try n.binary(.mul, n.cast(a, to: .f32), n.cast(b, to: .f32))
}

/// Inputs: a, its scale, its zero point, b, its scale, its zero point, the output's scale, its zero point.
private func qLinearBinary(_ n: inout NodeLowering, _ kind: Binary.Kind) throws {
    let a = try n.apply(Dequantize(), n.input(0), n.input(1), n.optionalInput(2))
    let b = try n.apply(Dequantize(), n.input(3), n.input(4), n.optionalInput(5))
    try n.result(Quantize(to: n.dtype(n.input(0))), n.binary(kind, a, b), n.input(6), n.optionalInput(7))
}

/// The attribute `opset` says which version of Softmax is meant.
private func qLinearSoftmax(_ n: inout NodeLowering) throws {
    let x = try n.apply(Dequantize(), n.input(0), n.input(1), n.optionalInput(2))
    var probabilities = x
    try softmax(&n, .softmax, of: x, version: n.requiredInt("opset")) { n, op, operands in probabilities = try n.apply(op, operands) }
    try n.result(Quantize(to: n.dtype(n.input(0))), probabilities, n.input(3), n.optionalInput(4))
}

/// Inputs: a, scale, zero, b, scale, zero, bias (i32, in the product's scale) or absent, output scale and zero or absent (f32 output).
private func qGemm(_ n: inout NodeLowering) throws {
    func matrix(_ n: inout NodeLowering, _ index: Int, _ flag: String) throws -> ValueID {
        let value = try n.input(index)
        guard n.rank(value) == 2 else { throw n.error(.shapeMismatch, "takes matrices, input \(index) has rank \(n.rank(value))") }
        return try n.flag(flag) ? n.apply(Transpose(permutation: [1, 0]), value) : value
    }
    var exact = try n.apply(MatMulInteger(), matrix(&n, 0, "transA"), matrix(&n, 3, "transB"), n.input(2), n.input(5))
    if let bias = n.optionalInput(6) { exact = try n.binary(.add, exact, bias) }
    var factor = try productScale(&n, n.input(1), n.input(4))
    let alpha = try n.float("alpha", default: 1)
    if alpha != 1 { factor = try n.binary(.mul, factor, n.scalar(Double(alpha), like: factor)) }
    let number = try n.cast(exact, to: .f32)
    guard let scale = n.optionalInput(7) else { return try n.result(Binary(.mul), number, factor) }
    let x = try n.binary(.mul, number, factor)
    let zero = n.optionalInput(8)
    try n.result(Quantize(to: zero.map { n.dtype($0) } ?? n.dtype(n.input(0))), x, scale, zero)
}

/// Inputs: a, b, their scales, their zero points or absent, bias or absent.
private func matMulIntegerToFloat(_ n: inout NodeLowering) throws {
    try floatProduct(
        &n, n.input(0), n.input(1), scale: productScale(&n, n.input(2), n.input(3)), aZero: n.optionalInput(4), bZero: n.optionalInput(5),
        bias: n.optionalInput(6))
}

/// Inputs: a (f32, quantised on the way), b, its scale, its zero point or absent, bias or absent.
private func dynamicQuantizeMatMul(_ n: inout NodeLowering) throws {
    let a = try n.applyAll(DynamicQuantize(), [n.input(0)])
    guard a.count == 3 else { throw n.error(.malformedFile, "dynamic quantisation gives \(a.count) values") }
    try floatProduct(
        &n, a[0], n.input(1), scale: productScale(&n, a[1], n.input(2)), aZero: a[2], bZero: n.optionalInput(3), bias: n.optionalInput(4))
}

private func floatProduct(
    _ n: inout NodeLowering, _ a: ValueID, _ b: ValueID, scale: ValueID, aZero: ValueID?, bZero: ValueID?, bias: ValueID?
) throws {
    let exact = try n.apply(MatMulInteger(), a, b, aZero, bZero)
    let number = try n.cast(exact, to: .f32)
    guard let bias else { return try n.result(Binary(.mul), number, scale) }
    try n.result(Binary(.add), n.binary(.mul, number, scale), bias)
}
