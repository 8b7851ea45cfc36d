import GraphIR
import Operators
import Tensors

/// Replaces nodes whose operands are all constants by their result, through the operator's own reference evaluation.
///
/// A result larger than what it is made of stays unfolded: int8 weights stay int8, a mask that `expand` blows up stays small.
struct ConstantFolding: Pass {
    let name = "constant_folding"

    /// Below that size growth does not matter.
    static let freeByteCount = 1024
    /// The same for a vector that is widened: biases and scales are little beside the matrices that they belong to, and kernels want them in f32.
    static let freeVectorByteCount = 1 << 18

    func run(_ graph: inout Graph, _ report: inout OptimizationReport) throws -> Int {
        var editor = try GraphEditor(graph)
        let count = editor.visit { editor, number in
            guard let node = editor.node(number), let output = node.outputs.first, node.outputs.count == 1, !type(of: node.op).usesCache else { return 0 }
            var operands: [Tensor?] = []
            for input in node.inputs {
                guard let input else {
                    operands.append(nil)
                    continue
                }
                // Blocks stay blocks.
                guard let constant = editor.graph.constant(input), !constant.dtype.isBlock else { return 0 }
                operands.append(constant)
            }
            let operandBytes = operands.reduce(0) { $0 + ($1?.byteCount ?? 0) }
            let type = editor.type(output)
            guard let shape = type.shape, let elements = try? Shape.count(shape),
                let bytes = type.dtype.byteCount(forElements: elements),
                bytes <= max(operandBytes, node.op is Cast && shape.count == 1 ? Self.freeVectorByteCount : Self.freeByteCount)
            else { return 0 }
            // What cannot be evaluated (an index outside its axis, a division by zero) says so when it runs, if it runs.
            guard let results = try? node.op.evaluate(Inputs(operands)), let result = results.first, result.dtype == type.dtype else { return 0 }
            editor.makeConstant(output, result)
            return 1
        }
        if count > 0 { graph = editor.finish() }
        return count
    }
}
