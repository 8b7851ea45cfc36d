import GraphIR
import Tensors

/// Lets nodes with equal operators and operands be one, and small equal constants too.
struct CommonSubexpression: Pass {
    let name = "common_subexpression"

    private struct NodeKey: Hashable {
        let op: AnyHashable
        let inputs: [ValueID?]
    }

    private struct ConstantKey: Hashable {
        let dtype: DType
        let shape: [Int]
        let bytes: [UInt8]
    }

    /// Larger constants are weights, which repeat only by design.
    private static let maximumConstantBytes = 256

    func run(_ graph: inout Graph, _ report: inout OptimizationReport) throws -> Int {
        var editor = try GraphEditor(graph)
        var count = 0
        var constants: [ConstantKey: ValueID] = [:]
        for id in graph.usedConstants {
            guard let tensor = graph.constant(id), tensor.byteCount <= Self.maximumConstantBytes else { continue }
            let key = ConstantKey(dtype: tensor.dtype, shape: tensor.shape, bytes: tensor.withUnsafeBytes { Array($0) })
            if let known = constants[key] {
                editor.replace(id, with: known)
                count += 1
            } else {
                constants[key] = id
            }
        }
        var nodes: [NodeKey: [ValueID]] = [:]
        count += editor.visit { editor, number in
            guard let node = editor.node(number) else { return 0 }
            let key = NodeKey(op: AnyHashable(node.op), inputs: node.inputs)
            guard let known = nodes[key], known.count == node.outputs.count else {
                nodes[key] = node.outputs
                return 0
            }
            for (output, earlier) in zip(node.outputs, known) { editor.replace(output, with: earlier) }
            return 1
        }
        if count > 0 { graph = editor.finish() }
        return count
    }
}
