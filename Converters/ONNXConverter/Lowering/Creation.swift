import GraphIR
import Operators
import Tensors

/// Operators that make tensors out of attributes and sizes.
let creationRules: [String: OperatorTable.Rule] = [
    "Constant": constant,
    "ConstantOfShape": constantOfShape,
    "Range": range,
    "EyeLike": eyeLike,
    "CumSum": cumSum,
]

private func constant(_ n: inout NodeLowering) throws {
    if let tensor = try n.tensor("value") ?? n.tensor("sparse_value") {
        n.define(constant: tensor)
    } else if let value = try n.float("value_float") {
        n.define(constant: try Tensor(floats: [value], shape: []))
    } else if let values = try n.floats("value_floats") {
        n.define(constant: try Tensor(floats: values, shape: [values.count]))
    } else if let value = try n.int("value_int") {
        n.define(constant: try Tensor(integers: [Int64(value)], shape: []))
    } else if let values = try n.ints("value_ints") {
        n.define(constant: try Tensor(integers: values.map { Int64($0) }, shape: [values.count]))
    } else if n.has("value_string") || n.has("value_strings") {
        throw n.error(.unsupportedType, "string tensors are not supported")
    } else {
        throw n.error(.malformedFile, "has no value")
    }
}

private func constantOfShape(_ n: inout NodeLowering) throws {
    let value = try n.tensor("value") ?? Tensor(floats: [0], shape: [1])
    guard value.count == 1 else { throw n.error(.malformedFile, "its value has \(value.count) elements, not 1") }
    try n.result(Fill(), n.input(0), n.builder.constant(value.reshaped([])))
}

/// Bounds are scalars; exporters also give vectors of one element.
private func range(_ n: inout NodeLowering) throws {
    let bounds = try (0..<3).map { index -> ValueID in
        let bound = try n.input(index)
        return n.rank(bound) == 1 ? try n.apply(Squeeze(axes: [0]), bound) : bound
    }
    try n.result(Arange(), bounds)
}

/// Ones on a diagonal: column - row = k.
private func eyeLike(_ n: inout NodeLowering) throws {
    let x = try n.input(0)
    guard n.rank(x) == 2 else { throw n.error(.shapeMismatch, "has an input of rank \(n.rank(x)), not 2") }
    let zero = try n.builder.scalar(0, .i64)
    let one = try n.builder.scalar(1, .i64)
    func indices(_ n: inout NodeLowering, _ axis: Int) throws -> ValueID {
        try n.apply(Arange(), zero, n.apply(Squeeze(axes: [0]), n.sizes(x, axis..<(axis + 1))), one)
    }
    let rows = try n.apply(ExpandDims(axes: [1]), indices(&n, 0))
    let columns = try indices(&n, 1)
    let shifted = try n.binary(.add, rows, n.builder.scalar(Double(n.int("k", default: 0)), .i64))
    let dtype = try n.int("dtype").map { try n.dtype(code: $0) } ?? n.dtype(x)
    try n.result(Cast(to: dtype), n.apply(Compare(.equal), shifted, columns))
}

private func cumSum(_ n: inout NodeLowering) throws {
    guard let axis = try n.integers(input: 1)?.first else { throw n.error(.malformedFile, "its axis is missing") }
    try n.result(CumSum(axis: axis, isExclusive: n.flag("exclusive"), isReverse: n.flag("reverse")), n.input(0))
}
