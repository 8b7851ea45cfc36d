/// The layout of a `.graph` file: a safetensors file whose header starts with a checksum of the rest of the header, and whose
/// `__metadata__` holds the values below. Tensors are the constants of the graph that its text leaves out, under their names, and the
/// compiled tokenizer.
enum GraphFileFormat {
    static let version = 1
    static let name = "mlgraph"

    /// How the header starts; 16 hexadecimal digits follow: the checksum of the header's bytes behind them.
    static let headerStart = #"{"__metadata__":{"header_checksum":""#
    static let headerChecksum = "header_checksum"
    static let unsealed = "0000000000000000"

    static let format = "format"
    static let formatVersion = "version"
    static let graph = "graph"
    static let description = "description"
    static let provenance = "provenance"
    /// A JSON object: tensor name to checksum of its bytes.
    static let checksums = "checksums"
    /// A JSON object: constants that are stored under another constant's name, because their contents are equal.
    static let aliases = "aliases"

    static let tokenizer = "__tokenizer__"
}
