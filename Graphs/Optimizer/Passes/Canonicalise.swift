import GraphIR
import Operators
import Tensors

/// Writes the same computation in one way: drops what changes nothing, merges chains of reshapes, transposes and casts, puts constants second.
struct Canonicalise: Pass {
    let name = "canonicalise"

    func run(_ graph: inout Graph, _ report: inout OptimizationReport) throws -> Int {
        let bound = Set(graph.inputSymbols)
        var editor = try GraphEditor(graph)
        let count = try editor.visit { editor, number in
            guard let node = editor.node(number), let output = node.outputs.first, node.outputs.count == 1 else { return 0 }
            let simplifier = NodeSimplifier(number: number, node: node, output: output, boundSymbols: bound)
            if let same = simplifier.identity(in: editor) {
                editor.replace(output, with: same)
                return 1
            }
            if let merged = try simplifier.merged(in: &editor) {
                editor.replace(output, with: merged)
                return 1
            }
            if node.op is Binary, node.inputs.count == 2, simplifier.prefersSwappedOperands(in: editor), let a = node.inputs[0], let b = node.inputs[1],
                let op = node.op as? Binary
            {
                editor.replace(output, with: try editor.add(op, b, a, name: node.name))
                return 1
            }
            return 0
        }
        if count > 0 { graph = editor.finish() }
        return count
    }
}

/// What can be said of one node and those before it.
private struct NodeSimplifier {
    let number: Int
    let node: Node
    let output: ValueID
    let boundSymbols: Set<String>

    private func input(_ index: Int) -> ValueID? { index < node.inputs.count ? node.inputs[index] : nil }

    /// The operand that the node hands on unchanged.
    func identity(in editor: GraphEditor) -> ValueID? {
        guard let x = input(0) else { return nil }
        let keepsType = editor.type(x) == editor.type(output)
        switch node.op {
        case is Reshape, is Expand: return keepsType ? x : nil
        case let op as Transpose: return op.permutation == Array(op.permutation.indices) ? x : nil
        case let op as Cast: return op.to == editor.type(x).dtype ? x : nil
        case is Concat: return node.inputs.count == 1 ? x : nil
        case let op as Reduce: return op.axes.isEmpty && [.sum, .mean, .max, .min, .prod].contains(op.kind) && keepsType ? x : nil
        case is Slice:
            // Equal dims mean everything is taken; only a negative step could change the order.
            guard keepsType else { return nil }
            guard let steps = input(3) else { return x }
            return editor.fact(steps).value?.fixedValues?.allSatisfy { $0 > 0 } == true ? x : nil
        case is Tile, is Pad:
            guard keepsType, let amounts = input(1), let values = editor.fact(amounts).value?.fixedValues else { return nil }
            return values.allSatisfy { $0 == (node.op is Tile ? 1 : 0) } ? x : nil
        case is Select:
            guard let a = input(1), let b = input(2), let condition = editor.fact(x).value?.fixedValues, let first = condition.first,
                condition.allSatisfy({ $0 == first })
            else { return nil }
            let chosen = first == 0 ? b : a
            return editor.type(chosen) == editor.type(output) ? chosen : nil
        case let op as Binary: return neutral(op.kind, in: editor)
        default: return nil
        }
    }

    /// x of `x + 0`, `x * 1`, `x and true` and their like.
    private func neutral(_ kind: Binary.Kind, in editor: GraphEditor) -> ValueID? {
        guard let a = input(0), let b = input(1) else { return nil }
        func isNeutral(_ value: ValueID, _ number: Double) -> Bool { editor.graph.constant(value) != nil && editor.scalar(value) == number }
        func keeps(_ x: ValueID, dropping other: ValueID, _ number: Double) -> ValueID? {
            isNeutral(other, number) && editor.type(x) == editor.type(output) ? x : nil
        }
        switch kind {
        case .add: return keeps(a, dropping: b, 0) ?? keeps(b, dropping: a, 0)
        case .sub: return keeps(a, dropping: b, 0)
        case .mul: return keeps(a, dropping: b, 1) ?? keeps(b, dropping: a, 1)
        case .div, .pow: return keeps(a, dropping: b, 1)
        case .and where editor.type(output).dtype == .bool: return keeps(a, dropping: b, 1) ?? keeps(b, dropping: a, 1)
        case .or where editor.type(output).dtype == .bool: return keeps(a, dropping: b, 0) ?? keeps(b, dropping: a, 0)
        default: return nil
        }
    }

    /// The node and the one before it as one.
    func merged(in editor: inout GraphEditor) throws -> ValueID? {
        switch node.op {
        case is Reshape, is ExpandDims, is Squeeze: return try mergedReshape(in: &editor)
        case let op as Transpose:
            guard let x = input(0), let inner = editor.op(x) as? Transpose, let source = editor.inputs(x).first ?? nil else { return nil }
            return try editor.add(Transpose(permutation: op.permutation.map { inner.permutation[$0] }), source, name: node.name)
        case let op as Cast:
            guard let x = input(0), editor.op(x) is Cast, let source = editor.inputs(x).first ?? nil,
                editor.type(x).dtype.holds(editor.type(source).dtype)
            else { return nil }
            return try editor.add(Cast(to: op.to), source, name: node.name)
        default: return nil
        }
    }

    private static func isReshape(_ op: (any GraphIR.Operator)?) -> Bool { op is Reshape || op is ExpandDims || op is Squeeze }

    private func mergedReshape(in editor: inout GraphEditor) throws -> ValueID? {
        guard let x = input(0) else { return nil }
        let dims = editor.type(output).dims
        guard dims.allSatisfy({ $0.symbols.isSubset(of: boundSymbols) }) else { return nil }
        if Self.isReshape(editor.op(x)), let source = editor.inputs(x).first ?? nil {
            if editor.type(source) == editor.type(output) { return source }
            return try editor.add(Reshape(), source, try editor.addDims(dims, name: node.name), name: node.name)
        }
        return try transposedStack(x, dims, in: &editor)
    }

    /// A stack of matrices that is flattened, transposed and unflattened is transposed as it is:
    ///
    ///     x [..., m, n] -> reshape [k, m, n] -> transpose -> reshape [..., n, m]     =>     x -> transpose
    ///
    /// The stack may be counted in another way after it; x is reshaped before it is transposed then.
    private func transposedStack(_ x: ValueID, _ dims: [Dim], in editor: inout GraphEditor) throws -> ValueID? {
        guard let transpose = editor.op(x) as? Transpose, transpose.permutation == [0, 2, 1], let flat = editor.inputs(x).first ?? nil,
            editor.op(flat) is Reshape, let source = editor.inputs(flat).first ?? nil
        else { return nil }
        let sourceDims = editor.type(source).dims
        let flatDims = editor.type(flat).dims
        guard sourceDims.count >= 3, dims.count >= 3, Array(sourceDims.suffix(2)) == Array(flatDims.suffix(2)),
            Array(dims.suffix(2)) == sourceDims.suffix(2).reversed()
        else { return nil }
        var stack = source
        if sourceDims.dropLast(2) != dims.dropLast(2) {
            stack = try editor.add(Reshape(), source, try editor.addDims(dims.dropLast(2) + sourceDims.suffix(2), name: node.name), name: node.name)
        }
        let lead = Array(0..<dims.count - 2)
        return try editor.add(Transpose(permutation: lead + [dims.count - 1, dims.count - 2]), stack, name: node.name)
    }

    /// Constants stand second in operations whose operands may be exchanged.
    func prefersSwappedOperands(in editor: GraphEditor) -> Bool {
        guard let op = node.op as? Binary, let a = input(0), let b = input(1) else { return false }
        guard [.add, .mul, .min, .max, .and, .or, .xor].contains(op.kind) else { return false }
        return editor.graph.constant(a) != nil && editor.graph.constant(b) == nil
    }
}

extension DType {
    /// Every value of the other type has an exact place in this one.
    func holds(_ other: DType) -> Bool {
        if isBlock || other.isBlock { return false }
        if self == other || other == .bool { return self != .bool || other == .bool }
        switch (isFloat, other.isFloat) {
        case (true, true): return size > other.size
        case (true, false): return self == .f64 ? other.size <= 4 : self == .f32 && other.size <= 2
        case (false, true): return false
        case (false, false):
            if self == .bool { return false }
            return isUnsigned == other.isUnsigned ? size > other.size : !isUnsigned && size > other.size
        }
    }
}
