import GraphIR
import Operators
import Tensors

/// Keeps masks small: elementwise operators run before a broadcast instead of after it, broadcasts that the next operator makes anyway go,
/// and comparisons that positions cannot fail are settled.
///
///     not(expand(x))               =>     expand(not(x))
///     add(scores, expand(mask))    =>     add(scores, mask)
///     less(range(0, n), 0)         =>     expand(false)
///
/// Exporters spell a mask of `[batch, 1, sequence, sequence]` this way whose rows are all the same; what is left is `[batch, 1, 1, sequence]`.
struct BroadcastSimplification: Pass {
    let name = "broadcast_simplification"

    func run(_ graph: inout Graph, _ report: inout OptimizationReport) throws -> Int {
        let bound = Set(graph.inputSymbols)
        var editor = try GraphEditor(graph)
        let count = try editor.visit { editor, number in
            guard let node = editor.node(number), let output = node.outputs.first, node.outputs.count == 1 else { return 0 }
            let dims = editor.type(output).dims
            guard dims.allSatisfy({ $0.symbols.isSubset(of: bound) }) else { return 0 }
            switch node.op {
            case let op as Compare:
                guard let result = settled(op.kind, node, in: editor) else { return 0 }
                let constant = editor.addConstant(try Tensor(bools: [result], shape: []))
                let shape = try editor.addDims(dims, name: node.name)
                editor.replace(output, with: try editor.add(Expand(), constant, shape, name: node.name))
                return 1
            case is Unary, is Binary, is Select, is Cast: return try moved(node, output, dims, in: &editor) ? 1 : 0
            case is Expand:
                guard let inner = source(node.inputs.first ?? nil, in: editor) else { return 0 }
                let shape = try editor.addDims(dims, name: node.name)
                editor.replace(output, with: try editor.add(Expand(), inner, shape, name: node.name))
                return 1
            case is ScaledDotProductAttention:
                guard node.inputs.count > 3, let mask = source(node.inputs[3], in: editor), editor.type(mask).rank <= 4 else { return 0 }
                editor.setInput(number, 3, to: mask)
                return 1
            default: return 0
            }
        }
        if count > 0 { graph = editor.finish() }
        return count
    }

    /// What a value is the broadcast of.
    private func source(_ value: ValueID?, in editor: GraphEditor) -> ValueID? {
        guard let value, editor.op(value) is Expand else { return nil }
        return editor.inputs(value).first ?? nil
    }

    /// Lets an elementwise node run on what its operands are broadcasts of.
    private func moved(_ node: Node, _ output: ValueID, _ dims: [Dim], in editor: inout GraphEditor) throws -> Bool {
        let sources = node.inputs.map { source($0, in: editor) }
        guard sources.contains(where: { $0 != nil }) else { return false }
        let inputs = zip(sources, node.inputs).map { $0 ?? $1 }
        let smaller = try editor.add(node.op, inputs, name: node.name)
        if editor.type(smaller).dims == dims {
            editor.replace(output, with: smaller)
        } else {
            let shape = try editor.addDims(dims, name: node.name)
            editor.replace(output, with: try editor.add(Expand(), smaller, shape, name: node.name))
        }
        return true
    }

    /// The result of comparing something that is never negative with a number that settles it.
    private func settled(_ kind: Compare.Kind, _ node: Node, in editor: GraphEditor) -> Bool? {
        guard node.inputs.count == 2, let a = node.inputs[0], let b = node.inputs[1] else { return nil }
        func compare(_ kind: Compare.Kind, _ value: ValueID, with limit: ValueID) -> Bool? {
            guard editor.type(limit).dtype.isInteger, let limit = editor.scalar(limit), isNonNegative(value, in: editor, depth: 8) else { return nil }
            switch kind {
            case .less, .equal: return limit < 0 || limit == 0 && kind == .less ? false : nil
            case .less_equal: return limit < 0 ? false : nil
            case .greater, .not_equal: return limit < 0 ? true : nil
            case .greater_equal: return limit <= 0 ? true : nil
            }
        }
        let mirrored: [Compare.Kind: Compare.Kind] = [
            .less: .greater, .greater: .less, .less_equal: .greater_equal, .greater_equal: .less_equal, .equal: .equal, .not_equal: .not_equal,
        ]
        return compare(kind, a, with: b) ?? mirrored[kind].flatMap { compare($0, b, with: a) }
    }

    /// Positions: a range from 0 or above on, however it is laid out.
    private func isNonNegative(_ value: ValueID, in editor: GraphEditor, depth: Int) -> Bool {
        if let known = editor.fact(value).value { return known.elements.allSatisfy(\.isKnownNonNegative) }
        guard depth > 0 else { return false }
        let inputs = editor.inputs(value)
        switch editor.op(value) {
        case is Arange:
            guard inputs.count == 3, let start = inputs[0], let delta = inputs[2] else { return false }
            return [start, delta].allSatisfy { editor.fact($0).value?.elements.allSatisfy(\.isKnownNonNegative) == true }
        case is Reshape, is ExpandDims, is Squeeze, is Transpose, is Expand:
            return (inputs.first ?? nil).map { isNonNegative($0, in: editor, depth: depth - 1) } ?? false
        default: return false
        }
    }
}
