import Architectures
import Tensors

/// The tensors of a GGUF file under the names of the reference implementation's checkpoints, in the blocks of the file.
struct GGUFWeights: WeightSource {
    private let file: GGUFFile
    let names: [String]
    let isOutputMajor = true
    /// The file's name for each of `names`.
    private let fileNames: [ExactName: String]

    /// Tensors that the architecture does not have keep the name of the file; those that are part of the configuration are left out.
    init(_ file: GGUFFile, _ architecture: GGUFArchitecture) {
        self.file = file
        var names: [String] = []
        var fileNames: [ExactName: String] = [:]
        for tensor in file.tensors where !Self.settings.contains(tensor.name) {
            let name = architecture.checkpointName(tensor.name) ?? tensor.name
            guard fileNames.updateValue(tensor.name, forKey: ExactName(name)) == nil else { continue }
            names.append(name)
        }
        self.names = names
        self.fileNames = fileNames
    }

    private static let settings = ["rope_freqs.weight", "rope_factors_short.weight", "rope_factors_long.weight"]

    func tensor(named name: String) throws -> Tensor { try file.tensor(named: fileNames[ExactName(name)] ?? name) }
}
