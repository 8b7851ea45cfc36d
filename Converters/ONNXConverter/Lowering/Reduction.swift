import GraphIR
import Operators
import Tensors

/// Reductions over axes.
let reductionRules: [String: OperatorTable.Rule] = [
    "ReduceSum": { try reduce(&$0, .sum, axesInputSince: 13) },
    "ReduceMean": { try reduce(&$0, .mean) },
    "ReduceMax": { try reduce(&$0, .max) },
    "ReduceMin": { try reduce(&$0, .min) },
    "ReduceProd": { try reduce(&$0, .prod) },
    "ReduceSumSquare": { try reduce(&$0, .sumSquare) },
    "ReduceL1": { try reduce(&$0, .l1) },
    "ReduceL2": { try reduce(&$0, .l2) },
    "ReduceLogSum": { try reduce(&$0, .logSum) },
    "ReduceLogSumExp": { try reduce(&$0, .logSumExp) },
    "ArgMax": { try argument(&$0, .argmax) },
    "ArgMin": { try argument(&$0, .argmin) },
]

/// Axes are an attribute, from version 18 on (sums from 13 on) an input. No axes mean all of them, unless `noop_with_empty_axes` is set.
private func reduce(_ n: inout NodeLowering, _ kind: Reduce.Kind, axesInputSince version: Int = 18) throws {
    let x = try n.input(0)
    let isInput = n.opset >= version
    var axes = try (isInput ? n.integers(input: 1) : n.ints("axes")) ?? []
    let keepDims = try n.flag("keepdims", default: true)
    let isNothing = isInput ? try n.flag("noop_with_empty_axes") : false
    if axes.isEmpty {
        if isNothing { return n.define(x) }
        axes = Array(0..<n.rank(x))
    }
    let op = Reduce(kind, axes: axes, keepDims: keepDims)
    if n.dtype(x) == .bool, kind == .max || kind == .min {
        // Version 20: any and all.
        return try n.result(Cast(to: .bool), n.apply(op, n.cast(x, to: .u8)))
    }
    try n.result(op, x)
}

private func argument(_ n: inout NodeLowering, _ kind: Reduce.Kind) throws {
    try n.require("select_last_index", is: 0)
    try n.result(Reduce(kind, axes: [n.int("axis", default: 0)], keepDims: n.flag("keepdims", default: true)), n.input(0))
}
