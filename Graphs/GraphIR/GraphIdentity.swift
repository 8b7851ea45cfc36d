import Tensors

extension Operator {
    /// Whether the other is of the same type with the same attributes.
    public func isEqual(to other: any Operator) -> Bool {
        guard let other = other as? Self else { return false }
        return self == other
    }
}

extension Graph {
    /// Whether two graphs are the same down to names and order: inputs, nodes, outputs and the constants they use. Values that nothing
    /// uses do not count.
    public func isIdentical(to other: Graph) -> Bool {
        func same(_ a: String, _ b: String) -> Bool { a.utf8.elementsEqual(b.utf8) }
        func sameValue(_ a: ValueID, _ b: ValueID) -> Bool {
            let (x, y) = (self[a], other[b])
            guard same(x.name, y.name), x.type == y.type, x.inputDefault == y.inputDefault else { return false }
            switch (x.constant, y.constant) {
            case (nil, nil): return true
            case (let p?, let q?): return Tensor.identical(p, q)
            default: return false
            }
        }
        func sameOperand(_ pair: (ValueID?, ValueID?)) -> Bool {
            switch pair {
            case (nil, nil): return true
            case (let a?, let b?): return sameValue(a, b)
            default: return false
            }
        }
        guard same(name, other.name), inputs.count == other.inputs.count, nodes.count == other.nodes.count,
            outputs.count == other.outputs.count, zip(inputs, other.inputs).allSatisfy(sameValue)
        else { return false }
        let sameNodes = zip(nodes, other.nodes).allSatisfy { a, b in
            a.op.isEqual(to: b.op) && same(a.name, b.name) && a.inputs.count == b.inputs.count && a.outputs.count == b.outputs.count
                && zip(a.inputs, b.inputs).allSatisfy(sameOperand) && zip(a.outputs, b.outputs).allSatisfy(sameValue)
        }
        return sameNodes && zip(outputs, other.outputs).allSatisfy { same($0.name, $1.name) && sameValue($0.value, $1.value) }
    }
}
