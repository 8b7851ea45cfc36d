/// A program that takes part: its name in tables, and how its worker is started.
public struct Contestant: Sendable, Hashable {
    public let name: String
    public let command: [String]

    public init(name: String, command: [String]) {
        self.name = name
        self.command = command
    }

    /// The name of this project among the contestants.
    public static let own = "mlgraph"

    /// The peers in the order of tables: one file each in `Bench/peers`.
    public static let peers = ["onnxruntime", "openvino", "torch", "ctranslate2", "llama.cpp", "tokenizers"]
}
