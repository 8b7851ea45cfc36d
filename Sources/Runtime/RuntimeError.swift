import GraphIR
import Tensors

/// Why a graph cannot be run, in general or on the given inputs. One line that names the input or the node.
public struct RuntimeError: Error, Sendable, Hashable, CustomStringConvertible {
    public enum Reason: Sendable, Hashable {
        /// An input without a default was not given.
        case missingInput
        /// The graph has no input or output of that name.
        case unknownName
        case wrongType
        /// A rank or a size that does not fit the graph or the other inputs.
        case wrongShape
        /// A node refused its operands, e.g. an index outside a table.
        case invalidNode
        /// The shapes ask for more memory than the executor's limit.
        case outOfMemory
        /// More tokens than the key-value cache has room for.
        case contextFull
    }
    public let reason: Reason
    public let description: String

    public init(_ reason: Reason, _ description: String) {
        self.reason = reason
        self.description = description
    }

    /// The error of a node, from whatever its type rule or its kernel threw.
    static func node(_ node: Node, in graph: Graph, _ error: any Error) -> RuntimeError {
        if let error = error as? RuntimeError { return error }
        let value = node.outputs.first.map { " (%\(graph[$0].name))" } ?? ""
        let name = node.name.isEmpty ? "" : " \"\(node.name)\""
        return RuntimeError(.invalidNode, "node \(node.op.mnemonic)\(name)\(value): \(error)")
    }
}
