import JSON
import Tensors

/// What tells two graphs apart in meaning: their interfaces, and the computations behind outputs of one name. Names and order of
/// nodes and inner values do not count, nor does dead code, nor whether equal parts are shared; constants are compared by content.
public struct GraphDiff: Sendable, CustomStringConvertible {
    /// One line each; empty where the graphs compute the same in the same way.
    public private(set) var differences: [String] = []

    public var isEmpty: Bool { differences.isEmpty }
    public var description: String { differences.joined(separator: "\n") }

    private let a: Graph
    private let b: Graph
    private let definitionsA: [ValueID: Int]
    private let definitionsB: [ValueID: Int]

    public init(_ a: Graph, _ b: Graph) {
        self.a = a
        self.b = b
        definitionsA = a.definitions()
        definitionsB = b.definitions()
        compareInputs()
        compareOutputs()
    }

    private struct Pair: Hashable {
        let a: ValueID
        let b: ValueID
    }

    private static func quoted(_ name: String) -> String { JSONValue.string(name).text }

    private mutating func compareInputs() {
        let inputsA = Dictionary(a.inputs.map { (ExactName(a[$0].name), $0) }) { first, _ in first }
        let inputsB = Dictionary(b.inputs.map { (ExactName(b[$0].name), $0) }) { first, _ in first }
        for id in a.inputs {
            let name = a[id].name
            guard let other = inputsB[ExactName(name)] else {
                differences.append("input \(Self.quoted(name)): only in the first")
                continue
            }
            if a.type(id) != b.type(other) {
                differences.append("input \(Self.quoted(name)): \(a.type(id)) in the first, \(b.type(other)) in the second")
            }
            if a[id].inputDefault != b[other].inputDefault {
                let (x, y) = (a[id].inputDefault?.rawValue ?? "none", b[other].inputDefault?.rawValue ?? "none")
                differences.append("input \(Self.quoted(name)): the default is \(x) in the first, \(y) in the second")
            }
        }
        for id in b.inputs where inputsA[ExactName(b[id].name)] == nil {
            differences.append("input \(Self.quoted(b[id].name)): only in the second")
        }
    }

    private mutating func compareOutputs() {
        let outputsA = Set(a.outputs.map { ExactName($0.name) })
        let outputsB = Dictionary(b.outputs.map { (ExactName($0.name), $0.value) }) { first, _ in first }
        var seen: Set<Pair> = []
        for output in a.outputs {
            guard let other = outputsB[ExactName(output.name)] else {
                differences.append("output \(Self.quoted(output.name)): only in the first")
                continue
            }
            // A stack of our own: the depth of a graph is up to its file.
            var pending = [Pair(a: output.value, b: other)]
            while let pair = pending.popLast() {
                guard seen.insert(pair).inserted else { continue }
                compare(pair, &pending)
            }
        }
        for output in b.outputs where !outputsA.contains(ExactName(output.name)) {
            differences.append("output \(Self.quoted(output.name)): only in the second")
        }
    }

    private mutating func compare(_ pair: Pair, _ pending: inout [Pair]) {
        switch (a.constant(pair.a), b.constant(pair.b)) {
        case (let x?, let y?):
            if !Tensor.identical(x, y) { differences.append("\(place(pair)): \(Self.difference(x, y))") }
            return
        case (nil, nil): break
        default: return report(pair)
        }
        guard let indexA = definitionsA[pair.a], let indexB = definitionsB[pair.b] else {
            if definitionsA[pair.a] != nil || definitionsB[pair.b] != nil || !a[pair.a].name.utf8.elementsEqual(b[pair.b].name.utf8) {
                report(pair)
            }
            return
        }
        let (x, y) = (a.nodes[indexA], b.nodes[indexB])
        guard x.op.isEqual(to: y.op), x.outputs.firstIndex(of: pair.a) == y.outputs.firstIndex(of: pair.b) else { return report(pair) }
        for index in (0..<max(x.inputs.count, y.inputs.count)).reversed() {
            let left = index < x.inputs.count ? x.inputs[index] : nil
            let right = index < y.inputs.count ? y.inputs[index] : nil
            switch (left, right) {
            case (nil, nil): break
            case (let left?, let right?): pending.append(Pair(a: left, b: right))
            default:
                differences.append("\(place(pair)): operand \(index) of \(x.op.mnemonic) only in the \(left != nil ? "first" : "second")")
            }
        }
    }

    private mutating func report(_ pair: Pair) {
        differences.append(
            "\(place(pair)): \(Self.line(a, pair.a, definitionsA)) in the first, \(Self.line(b, pair.b, definitionsB)) in the second")
    }

    private func place(_ pair: Pair) -> String {
        let (x, y) = (TextScanner.reference(a[pair.a].name), TextScanner.reference(b[pair.b].name))
        return x.utf8.elementsEqual(y.utf8) ? x : "\(x) / \(y)"
    }

    private static func line(_ graph: Graph, _ id: ValueID, _ definitions: [ValueID: Int]) -> String {
        if graph.constant(id) != nil { return "a constant \(graph.type(id))" }
        guard let index = definitions[id] else { return "the input \(quoted(graph[id].name))" }
        let node = graph.nodes[index]
        let number = node.outputs.count > 1 ? node.outputs.firstIndex(of: id).map { "output \($0) of " } ?? "" : ""
        return "\(number)\(node.op.mnemonic)\(node.op.attributeText)\(node.name.isEmpty ? "" : " " + quoted(node.name))"
    }

    private static func difference(_ x: Tensor, _ y: Tensor) -> String {
        let types = (TensorType(x.dtype, shape: x.shape), TensorType(y.dtype, shape: y.shape))
        guard types.0 == types.1 else { return "a constant \(types.0) in the first, \(types.1) in the second" }
        let (p, q) = (x.doubles(), y.doubles())
        let count = zip(p, q).count { $0 != $1 }
        let largest = zip(p, q).map { abs($0 - $1) }.max() ?? 0
        return "the constants \(types.0) differ in \(count) of \(p.count) elements, at most by \(Float(largest))"
    }
}
