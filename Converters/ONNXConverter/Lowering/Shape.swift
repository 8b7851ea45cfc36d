import GraphIR
import Operators
import Tensors

/// Operators that look at or change shapes and leave elements alone.
let shapeRules: [String: OperatorTable.Rule] = [
    "Shape": shape,
    "Size": size,
    "Reshape": reshape,
    "Flatten": flatten,
    "Unsqueeze": unsqueeze,
    "Squeeze": squeeze,
    "Transpose": transpose,
    "Expand": { try $0.result(Expand(), $0.input(0), $0.input(1)) },
    "Tile": { try $0.result(Tile(), $0.input(0), $0.input(1)) },
    "Concat": { try $0.result(Concat(axis: $0.requiredInt("axis")), $0.variadicInputs()) },
    "Split": split,
    "Slice": slice,
    "Pad": pad,
]

/// Start and end exist from version 15 on.
private func shape(_ n: inout NodeLowering) throws {
    try n.result(ShapeOf(start: n.int("start", default: 0), end: n.int("end")), n.input(0))
}

private func size(_ n: inout NodeLowering) throws {
    let x = try n.input(0)
    guard n.rank(x) > 0 else { return n.define(try n.builder.scalar(1, .i64)) }
    try n.result(Reduce(.prod, axes: [0], keepDims: false), n.sizes(x, 0..<n.rank(x)))
}

private func reshape(_ n: inout NodeLowering) throws {
    try n.result(Reshape(zeroCopies: !n.flag("allowzero")), n.input(0), n.input(1))
}

private func flatten(_ n: inout NodeLowering) throws {
    let x = try n.input(0)
    let rank = n.rank(x)
    let axis = try n.int("axis", default: 1)
    let start = axis < 0 ? axis &+ rank : axis
    guard start >= 0, start <= rank else { throw n.error(.shapeMismatch, "axis \(axis) is outside a tensor of rank \(rank)") }
    try n.result(Reshape(), x, n.flattenedShape(x, axis: start))
}

/// Axes are an attribute before version 13, then an input.
private func axes(_ n: inout NodeLowering) throws -> [Int]? {
    n.opset < 13 ? try n.ints("axes") : try n.integers(input: 1)
}

private func unsqueeze(_ n: inout NodeLowering) throws {
    guard let axes = try axes(&n) else { throw n.error(.malformedFile, "its axes are missing") }
    try n.result(ExpandDims(axes: axes), n.input(0))
}

private func squeeze(_ n: inout NodeLowering) throws {
    let x = try n.input(0)
    if let axes = try axes(&n) { return try n.result(Squeeze(axes: axes), x) }
    let dims = n.type(x).dims
    guard let sizes = n.type(x).shape else { throw n.unsupported("removal of all dimensions of size 1 where a size is not known (\(n.type(x)))") }
    try n.result(Squeeze(axes: dims.indices.filter { sizes[$0] == 1 }), x)
}

private func transpose(_ n: inout NodeLowering) throws {
    let x = try n.input(0)
    try n.result(Transpose(permutation: n.ints("perm") ?? (0..<n.rank(x)).reversed()), x)
}

/// Parts are equal, or as the attribute (before version 13) or input says; with `num_outputs` (from 18 on) the last may be smaller.
private func split(_ n: inout NodeLowering) throws {
    let x = try n.input(0)
    let axis = try n.axis(n.int("axis", default: 0), rank: n.rank(x))
    let count = n.node.outputs.count
    let given = n.opset < 13 ? try n.ints("split") : try n.integers(input: 1)
    let wanted = n.opset < 18 ? count : try n.int("num_outputs", default: count)
    if let given {
        guard given.count == count, given.allSatisfy({ $0 >= 0 && $0 <= 1 << 38 }) else {
            throw n.error(.shapeMismatch, "splits into \(given) but has \(count) outputs")
        }
        let total = given.reduce(0, +)
        if Dim.areEqual(n.type(x).dims[axis], .fixed(total)) == false {
            throw n.error(.shapeMismatch, "splits a dimension of \(n.type(x).dims[axis]) into \(given)")
        }
        var start = 0
        for (index, part) in given.enumerated() {
            if n.isUsed(output: index) { try n.result(Slice(axes: [axis]), [x, n.integers([start]), n.integers([start + part])], output: index) }
            start += part
        }
        return
    }
    guard wanted == count else {
        throw n.error(.malformedFile, "num_outputs differs from its \(count) outputs")
    }
    if n.opset < 18, let size = n.type(x).dims[axis].fixedValue, size % count != 0 {
        throw n.error(.shapeMismatch, "\(size) elements do not split into \(count) equal parts")
    }
    // ceil(size / count) elements each; slices are clamped, so the last may come out smaller.
    let divisor = try n.integers([count])
    let size = try n.sizes(x, axis..<(axis + 1))
    let part = try n.binary(.div, n.binary(.add, size, n.integers([count - 1])), divisor)
    for index in 0..<count where n.isUsed(output: index) {
        let start = try n.binary(.mul, part, n.integers([index]))
        let end = index == count - 1 ? size : try n.binary(.mul, part, n.integers([index + 1]))
        try n.result(Slice(axes: [axis]), [x, start, end], output: index)
    }
}

/// Everything is an attribute before version 10, then an input.
private func slice(_ n: inout NodeLowering) throws {
    let x = try n.input(0)
    if n.opset < 10 {
        guard let starts = try n.ints("starts"), let ends = try n.ints("ends") else { throw n.error(.malformedFile, "starts or ends are missing") }
        let axes = try n.ints("axes") ?? Array(starts.indices)
        return try n.result(Slice(axes: axes), x, n.integers(starts), n.integers(ends))
    }
    let starts = try n.input(1)
    let axes: [Int]
    if let given = try n.integers(input: 3) {
        axes = given
    } else {
        guard let count = n.type(starts).dims.first?.fixedValue, count <= n.rank(x) else {
            throw n.error(.shapeMismatch, "starts of type \(n.type(starts)) for \(n.type(x))")
        }
        axes = Array(0..<count)
    }
    try n.result(Slice(axes: axes), x, starts, n.input(2), n.optionalInput(4))
}

/// Pads and value are attributes before version 11, then inputs; axes come with version 18.
private func pad(_ n: inout NodeLowering) throws {
    let x = try n.input(0)
    let rank = n.rank(x)
    guard let mode = Pad.Mode(rawValue: try n.string("mode", default: "constant")) else { throw n.unsupported("its mode") }
    if n.opset < 11 {
        guard let pads = try n.ints("pads") else { throw n.error(.malformedFile, "pads are missing") }
        return try n.result(Pad(mode: mode), x, n.integers(pads), n.scalar(Double(n.float("value", default: 0)), like: x))
    }
    var pads = try n.input(1)
    if let axes = try n.integers(input: 3) {
        guard let given = try n.integers(input: 1), given.count == 2 * axes.count else {
            throw n.error(.shapeMismatch, "its pads do not fit its axes \(axes)")
        }
        var all = Array(repeating: 0, count: 2 * rank)
        for (position, axis) in axes.enumerated() {
            let axis = try n.axis(axis, rank: rank)
            all[axis] = given[position]
            all[axis + rank] = given[position + axes.count]
        }
        pads = try n.integers(all)
    }
    // The value may be a vector of one element.
    var value = n.optionalInput(2)
    if let given = value, n.rank(given) == 1 { value = try n.apply(Squeeze(axes: [0]), given) }
    try n.result(Pad(mode: mode), x, pads, value)
}
