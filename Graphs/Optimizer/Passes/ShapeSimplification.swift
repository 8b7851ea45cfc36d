import GraphIR
import Operators
import Tensors

/// Lets the arithmetic on shapes disappear: a value whose elements inference knows becomes a constant or one `dims` node over the input
/// symbols, and every reshape gets its final shape.
struct ShapeSimplification: Pass {
    let name = "shape_simplification"

    func run(_ graph: inout Graph, _ report: inout OptimizationReport) throws -> Int {
        // Other symbols stand for sizes that only the data tell.
        let bound = Set(graph.inputSymbols)
        func isBound(_ dims: [Dim]) -> Bool { dims.allSatisfy { $0.symbols.isSubset(of: bound) } }
        var editor = try GraphEditor(graph)
        let count = try editor.visit { editor, number in
            guard let node = editor.node(number), let output = node.outputs.first, node.outputs.count == 1 else { return 0 }
            let type = editor.type(output)
            if let value = editor.fact(output).value {
                if let tensor = value.tensor(dtype: type.dtype) {
                    editor.makeConstant(output, tensor)
                    return 1
                }
                if !(node.op is Dims), type.dtype == .i64, value.shape.count <= 1, isBound(value.elements), let first = value.elements.first {
                    let op = value.shape.isEmpty ? Dims(scalar: first) : Dims(value.elements)
                    editor.replace(output, with: try editor.add(op, name: node.name))
                    return 1
                }
            }
            if let reshape = node.op as? Reshape, isBound(type.dims), let shape = node.inputs.last ?? nil,
                reshape.zeroCopies || editor.fact(shape).value?.elements != type.dims
            {
                editor.setInput(number, 1, to: try editor.addDims(type.dims, name: node.name))
                editor.setOperator(number, Reshape())
                return 1
            }
            return 0
        }
        if count > 0 { graph = editor.finish() }
        return count
    }
}
