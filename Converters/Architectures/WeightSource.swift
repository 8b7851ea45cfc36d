import Tensors

/// Where the tensors of an architecture come from, under the names of the reference implementation's checkpoints.
public protocol WeightSource: Sendable {
    /// All tensors.
    var names: [String] { get }

    /// Matrices may be stored in 16-bit floats or blocks; a block type has its blocks along the last dimension.
    ///
    /// - Throws: An error that names the tensor where there is none of that name.
    func tensor(named name: String) throws -> Tensor

    /// Every matrix of a dense layer is `[out, in]`, also where the checkpoints have `[in, out]` (GPT-2).
    var isOutputMajor: Bool { get }
}

extension WeightFiles: WeightSource {
    public var isOutputMajor: Bool { false }
}
