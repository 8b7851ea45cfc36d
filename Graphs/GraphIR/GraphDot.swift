import Tensors

extension Graph {
    /// The graph in the language of Graphviz (`dot -Tsvg`): boxes for nodes, ellipses for inputs and outputs, edges labelled
    /// with types. Constants are not drawn but listed in the boxes that use them.
    public var dot: String {
        var lines = [
            "digraph \(Self.dotQuoted(name)) {",
            "  node [shape=box, fontname=\"Helvetica\", fontsize=10];",
            "  edge [fontname=\"Helvetica\", fontsize=8];",
        ]
        var source: [ValueID: String] = [:]
        for (index, id) in inputs.enumerated() {
            source[id] = "input\(index)"
            lines.append("  input\(index) [shape=ellipse, label=\(Self.dotQuoted("\(self[id].name)\n\(type(id))"))];")
        }
        func edge(_ id: ValueID, to target: String) {
            guard let from = source[id] else { return }
            lines.append("  \(from) -> \(target) [label=\(Self.dotQuoted(type(id).description))];")
        }
        for (index, node) in nodes.enumerated() {
            var label = node.op.mnemonic + node.op.attributeText
            for case let input? in node.inputs where constant(input) != nil { label += "\n\(self[input].name) \(type(input))" }
            lines.append("  node\(index) [label=\(Self.dotQuoted(label))];")
            for case let input? in node.inputs { edge(input, to: "node\(index)") }
            for output in node.outputs { source[output] = "node\(index)" }
        }
        for (index, output) in outputs.enumerated() {
            lines.append("  output\(index) [shape=ellipse, style=bold, label=\(Self.dotQuoted("\(output.name)\n\(type(output.value))"))];")
            edge(output.value, to: "output\(index)")
        }
        return lines.joined(separator: "\n") + "\n}\n"
    }

    private static func dotQuoted(_ text: String) -> String {
        var quoted = "\""
        for scalar in text.unicodeScalars {
            switch scalar {
            case "\"", "\\": quoted += "\\\(scalar)"
            case "\n": quoted += "\\n"
            case "\u{0}"..<"\u{20}", "\u{7F}": quoted += " "
            default: quoted.unicodeScalars.append(scalar)
            }
        }
        return quoted + "\""
    }
}
