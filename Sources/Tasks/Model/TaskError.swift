/// A task that a model or an input does not allow.
public struct TaskError: Error, Sendable, Hashable, CustomStringConvertible {
    public enum Kind: Sendable, Hashable {
        /// The model is made for something else, or lacks a part that the task needs.
        case unsuitableModel
        /// The input cannot be used.
        case invalidInput
        /// No model of that name, or it is not installed.
        case modelNotFound
        /// A conversation does not fit the model's context.
        case contextFull
    }
    public let kind: Kind
    public let description: String

    init(_ kind: Kind, _ description: String) {
        self.kind = kind
        self.description = description
    }
}
