import Architectures
import Foundation
import GraphIR

/// A checkpoint as a graph, and what goes with it.
public struct CheckpointConversion: Sendable {
    /// Inputs `input_ids`, `attention_mask` and, where the architecture has them, `token_type_ids`, all i64 `[batch, sequence]`, the last
    /// two with defaults. Outputs by the head, see `Head`. The weights are those of the mapped files.
    public let graph: Graph
    public let configuration: ModelConfiguration
    /// What is odd but did not stand in the way, such as tensors that nothing uses.
    public let warnings: [String]
    /// config.json and the files with weights.
    public let sourceFiles: [URL]
}

/// Everything that stands in the way of converting a checkpoint.
public struct CheckpointError: Error, Sendable, Hashable, CustomStringConvertible {
    /// At least one.
    public let issues: [CheckpointIssue]

    public var description: String { issues.map(\.description).joined(separator: "; ") }
}
