import JSON
import Tensors

/// The text form of a graph, one line a node:
///
///     graph "name" {
///       input %input_ids : i64[batch, sequence]
///       input %attention_mask : i64[batch, sequence] = ones
///       constant %table : f32[30522, 384] = @
///       %x = gather(%table, %input_ids) {axis = 0} : f32[batch, sequence, 384] "embeddings/word"
///       constant %scale : f32[] = 0.125
///       %y = mul(%x, %scale) : f32[batch, sequence, 384]
///       output "last_hidden_state" = %y
///     }
///
/// A constant stands before its first use. Up to 32 elements are written out in row-major order; `@` stands for contents that
/// live outside the text, under the value's name. `_` is an absent operand; the string at a node's end is its name. Values that nothing
/// uses are left out.
extension Graph {
    public var text: String {
        var lines: [String] = ["graph \(JSONValue.string(name).text) {"]
        for id in inputs {
            let value = self[id]
            lines.append("  input \(reference(id)) : \(value.type)\(value.inputDefault.map { " = \($0.rawValue)" } ?? "")")
        }
        var printed = Set(inputs)
        func printConstant(_ id: ValueID) {
            guard let tensor = constant(id), printed.insert(id).inserted else { return }
            let contents = ElementText.canWrite(tensor) ? ElementText.attribute(of: tensor).text : "@"
            lines.append("  constant \(reference(id)) : \(type(id)) = \(contents)")
        }
        for node in nodes {
            for case let input? in node.inputs { printConstant(input) }
            lines.append("  " + text(of: node))
        }
        for output in outputs { printConstant(output.value) }
        for output in outputs { lines.append("  output \(JSONValue.string(output.name).text) = \(reference(output.value))") }
        return lines.joined(separator: "\n") + "\n}\n"
    }

    /// The line of one node.
    public func text(of node: Node) -> String {
        var line = node.outputs.map(reference).joined(separator: ", ")
        line += " = \(node.op.mnemonic)(\(node.inputs.map { $0.map(reference) ?? "_" }.joined(separator: ", ")))"
        line += node.op.attributeText
        line += " : " + node.outputs.map { type($0).description }.joined(separator: ", ")
        if !node.name.isEmpty { line += " " + JSONValue.string(node.name).text }
        return line
    }

    /// The constants whose contents `text` leaves out, in order of first use.
    public var externalConstants: [ValueID] {
        usedConstants.filter { id in constant(id).map { !ElementText.canWrite($0) } ?? false }
    }

    private func reference(_ id: ValueID) -> String { TextScanner.reference(self[id].name) }
}

extension Operator {
    /// ` {axis = 0, keepDims = true}`; empty without attributes. An operator that cannot be encoded prints its error, which no
    /// reader takes for attributes.
    var attributeText: String {
        do {
            let attributes = try attributes
            return attributes.isEmpty ? "" : " " + Attribute.record(attributes).text
        } catch {
            return " {!\(error)}"
        }
    }
}
