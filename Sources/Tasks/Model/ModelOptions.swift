/// How a model is loaded and run.
public struct ModelOptions: Sendable, Hashable {
    /// Threads for the arithmetic; nil: one per core. Results do not depend on it.
    public var threads: Int?
    /// Cuts inputs to that many tokens where the model allows more; nil: as the model says.
    public var maximumLength: Int?
    /// How many texts run through the model together at most.
    public var batchSize = 32

    public init(threads: Int? = nil, maximumLength: Int? = nil) {
        self.threads = threads
        self.maximumLength = maximumLength
    }
}
