import JSON

/// Where a graph comes from. No dates and no absolute paths: the same input gives the same bytes.
public struct Provenance: Sendable, Hashable {
    /// A file that went into the graph.
    public struct Source: Sendable, Hashable {
        /// Relative to the folder of the model.
        public var name: String
        public var byteCount: Int
        /// XXH3 of 128 bits, hexadecimal, as `xxhsum -H128` prints it.
        public var hash: String

        public init(name: String, byteCount: Int, hash: String) {
            self.name = name
            self.byteCount = byteCount
            self.hash = hash
        }
    }

    public var sources: [Source]
    /// The program that wrote the source, as the source says.
    public var producer: String?
    /// `onnx` or `safetensors`.
    public var format: String
    /// ONNX operator set of the standard domain.
    public var opset: Int?
    /// The version of the converter that wrote the graph.
    public var converterVersion: String

    public init(sources: [Source], format: String, producer: String? = nil, opset: Int? = nil, converterVersion: String) {
        self.sources = sources
        self.format = format
        self.producer = producer
        self.opset = opset
        self.converterVersion = converterVersion
    }

    public var json: JSONValue {
        var members = [
            JSONMember(key: "format", value: .string(format)),
            JSONMember(key: "converter_version", value: .string(converterVersion)),
        ]
        if let producer { members.append(JSONMember(key: "producer", value: .string(producer))) }
        if let opset { members.append(JSONMember(key: "opset", value: .integer(opset))) }
        let list = sources.map { source -> JSONValue in
            ["name": .string(source.name), "bytes": .integer(source.byteCount), "xxh128": .string(source.hash)]
        }
        members.append(JSONMember(key: "sources", value: .array(list)))
        return .object(members)
    }

    /// - Throws: `ModelDescriptionError` where it is not of the stored form.
    public init(json: JSONValue) throws {
        guard let format = json["format"]?.stringValue, let version = json["converter_version"]?.stringValue else {
            throw ModelDescriptionError("the provenance names no format or converter version")
        }
        let sources = try (json["sources"]?.arrayValue ?? []).map { value -> Source in
            guard let name = value["name"]?.stringValue, let count = value["bytes"]?.intValue, let hash = value["xxh128"]?.stringValue else {
                throw ModelDescriptionError("a source of the provenance lacks name, bytes or xxh128")
            }
            return Source(name: name, byteCount: count, hash: hash)
        }
        self.init(
            sources: sources, format: format, producer: json["producer"]?.stringValue, opset: json["opset"]?.intValue,
            converterVersion: version)
    }
}
