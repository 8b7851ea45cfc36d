/// The JSON object of one component, with the path to it for error messages.
struct ComponentJSON {
    let value: JSONValue
    let path: String
    /// Data kept outside the JSON in a compiled tokenizer; a string `@n` stands for number n.
    let blobs: [ByteView]

    init(_ value: JSONValue, path: String, blobs: [ByteView]) {
        self.value = value
        self.path = path
        self.blobs = blobs
    }

    func invalid(_ key: String, _ reason: String) -> TokenizerError {
        .invalid(path: path + "." + key, reason: "\(reason) (byte \(value.range.lowerBound))")
    }

    func unsupported(_ reason: String) -> TokenizerError { .unsupported(path: path, reason: reason) }

    func type() throws -> String { try string("type") }

    private func required(_ key: String) throws -> JSONValue {
        guard let found = value[key] else { throw invalid(key, "missing") }
        return found
    }

    func bytes(_ key: String) throws -> [UInt8] {
        guard let bytes = try required(key).bytes else { throw invalid(key, "expected a string") }
        return bytes
    }

    func string(_ key: String) throws -> String { String(decoding: try bytes(key), as: UTF8.self) }

    /// A string, or nil when it is missing or null.
    func optionalBytes(_ key: String) throws -> [UInt8]? { value[key] == nil ? nil : try bytes(key) }

    /// A string of exactly one scalar.
    func scalar(_ key: String) throws -> UInt32 {
        let scalars = UTF8Bytes.scalars(try bytes(key))
        guard scalars.count == 1 else { throw invalid(key, "expected one character") }
        return scalars[0]
    }

    func bool(_ key: String) throws -> Bool {
        guard let bool = try required(key).bool else { throw invalid(key, "expected true or false") }
        return bool
    }

    func bool(_ key: String, default value: Bool) throws -> Bool { try optionalBool(key) ?? value }

    func optionalBool(_ key: String) throws -> Bool? { value[key] == nil ? nil : try bool(key) }

    /// A whole number from 0 to 2^31 - 1.
    func count(_ key: String) throws -> Int {
        guard let int = try required(key).int, int >= 0, int <= Int(Int32.max) else {
            throw invalid(key, "expected a whole number from 0 to 2147483647")
        }
        return int
    }

    /// A whole number from 0 to 2^31 - 1, or nil when it is missing or null.
    func optionalCount(_ key: String) throws -> Int? { value[key] == nil ? nil : try count(key) }

    /// A number, or nil when it is missing or null.
    func optionalNumber(_ key: String) throws -> Double? {
        guard let value = value[key] else { return nil }
        guard let number = value.number else { throw invalid(key, "expected a number") }
        return number
    }

    func array(_ key: String) throws -> [JSONValue] {
        guard let array = try required(key).array else { throw invalid(key, "expected an array") }
        return array
    }

    func component(_ key: String) throws -> ComponentJSON {
        let found = try required(key)
        guard found.isObject else { throw invalid(key, "expected an object") }
        return ComponentJSON(found, path: path + "." + key, blobs: blobs)
    }

    /// The component under `key`, or nil when it is missing or null.
    func optionalComponent(_ key: String) throws -> ComponentJSON? { value[key] == nil ? nil : try component(key) }

    /// An array of components, as `Sequence` has.
    func components(_ key: String) throws -> [ComponentJSON] {
        try array(key).enumerated().map { index, element in
            guard element.isObject else { throw invalid("\(key)[\(index)]", "expected an object") }
            return ComponentJSON(element, path: "\(path).\(key)[\(index)]", blobs: blobs)
        }
    }

    /// A pair of a token and its id, as in `"sep": ["</s>", 2]`.
    func tokenPair(_ key: String) throws -> (content: [UInt8], id: UInt32) {
        let pair = try array(key)
        guard pair.count == 2, let content = pair[0].bytes, let int = pair[1].int, let id = UInt32(exactly: int) else {
            throw invalid(key, "expected [token, id]")
        }
        return (content, id)
    }

    /// A string enumeration by its raw value.
    func choice<Choice: RawRepresentable>(_ key: String, of type: Choice.Type) throws -> Choice
    where Choice.RawValue == String {
        let name = try string(key)
        guard let choice = Choice(rawValue: name) else { throw invalid(key, "unknown value \(name)") }
        return choice
    }

    /// The pattern under `pattern`: `{"String": ...}` or `{"Regex": ...}`.
    func pattern() throws -> TextPattern {
        let pattern = try component("pattern")
        if let literal = try pattern.optionalBytes("String") { return .literal(literal) }
        return .regex(try Regex(oniguruma: pattern.bytes("Regex"), path: pattern.path))
    }
}
