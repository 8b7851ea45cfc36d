import JSON
import Tensors

/// A file that is no readable `.graph` file, or a graph that cannot be stored in one.
public struct GraphFileError: Error, Sendable, Hashable, CustomStringConvertible {
    public enum Reason: Sendable, Hashable {
        /// Another kind of file.
        case notAGraph
        /// Written in a later version of the format.
        case newerVersion
        /// Cut off or changed since it was written.
        case damaged
        /// The graph does not survive its text form, or uses a reserved name.
        case notStorable
    }
    public let reason: Reason
    public let description: String

    init(_ reason: Reason, _ path: String, _ text: String) {
        self.reason = reason
        description = "\(path): \(text)"
    }
}
