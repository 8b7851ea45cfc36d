import GraphIR
import Tensors

extension Graph {
    /// Reads the text form of a graph of the toolkit's operators, and verifies it.
    ///
    /// - Parameter constants: Gives the contents of a constant that the text leaves out (`@`), by the value's name.
    /// - Throws: `GraphTextError` with line and column, `VerificationError`, or what `constants` throws.
    public init(parsing text: String, constants: (String) throws -> Tensor) throws {
        try self.init(parsing: text, registry: OperatorRegistry.all, constants: constants)
    }

    /// Reads text that holds all its constants.
    public init(parsing text: String) throws {
        try self.init(parsing: text, registry: OperatorRegistry.all)
    }
}
