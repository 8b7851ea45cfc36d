import Architectures
import JSON
import Tensors

/// A config.json in the making: what the metadata of a GGUF file say, in the words of the reference implementation.
struct GGUFConfiguration {
    let file: GGUFFile
    let architecture: GGUFArchitecture
    private(set) var members: [JSONMember] = []
    private(set) var issues: [CheckpointIssue] = []

    init(_ file: GGUFFile, _ architecture: GGUFArchitecture) {
        self.file = file
        self.architecture = architecture
        set("model_type", .string(architecture.modelType))
        set("architectures", [.string(architecture.className)])
        for setting in architecture.settings { read(setting) }
        if let count = integer("expert_count"), count > 0 {
            report(.unsupported, "expert_count", "is \(count): mixtures of experts are not supported")
        }
        if let rows = file.entry(named: "token_embd.weight")?.shape.first { set("vocab_size", .integer(rows)) }
        set("tie_word_embeddings", .bool(!hasTensor("output.weight")))
        architecture.complete(&self)
    }

    var json: JSONValue { .object(members) }

    /// What was set before.
    func setting(_ name: String) -> JSONValue? { json[name] }

    mutating func set(_ name: String, _ value: JSONValue) {
        members.removeAll { $0.key == name }
        members.append(JSONMember(key: name, value: value))
    }

    mutating func report(_ kind: CheckpointIssue.Kind, _ key: String, _ reason: String) {
        issues.append(CheckpointIssue(kind, path: file.path, "key \(quoted("\(architecture.name).\(key)")) \(reason)"))
    }

    // MARK: Metadata

    private mutating func read(_ setting: GGUFArchitecture.Setting) {
        let found: JSONValue?
        switch setting.kind {
        case .integer: found = integer(setting.key).map { .integer($0) }
        case .number: found = number(setting.key).map { .number($0) }
        case .flag: found = flag(setting.key).map { .bool($0) }
        }
        if let found {
            set(setting.name, found)
        } else if setting.isRequired, file.value("\(architecture.name).\(setting.key)") == nil {
            report(.configuration, setting.key, "is missing")
        }
    }

    /// The value of a key behind the architecture's name. A list with a number for each layer counts as that number where all are equal.
    private mutating func value(_ key: String) -> GGUFValue? {
        guard let value = file.value("\(architecture.name).\(key)") else { return nil }
        guard case .array(let array) = value, let values = try? array.integers(), let first = values.first else { return value }
        guard values.allSatisfy({ $0 == first }) else {
            report(.unsupported, key, "has a number of its own for each layer, which is not supported")
            return nil
        }
        return .signed(Int64(first))
    }

    private mutating func value<Result>(_ key: String, _ expected: String, _ convert: (GGUFValue) -> Result?) -> Result? {
        guard let value = value(key) else { return nil }
        if let result = convert(value) { return result }
        report(.configuration, key, "is \(value.kindName), expected \(expected)")
        return nil
    }

    mutating func integer(_ key: String) -> Int? { value(key, "an integer", \.intValue) }
    mutating func flag(_ key: String) -> Bool? { value(key, "a boolean", \.boolValue) }
    mutating func text(_ key: String) -> String? { value(key, "a string", \.stringValue) }
    mutating func number(_ key: String) -> Double? { value(key, "a finite number") { $0.doubleValue.flatMap { $0.isFinite ? $0 : nil } } }

    // MARK: Tensors

    func hasTensor(_ name: String) -> Bool { file.entry(named: name) != nil }

    /// The elements of a short vector; nil where there is none of that name.
    mutating func vector(_ name: String) -> [Double]? {
        guard let entry = file.entry(named: name) else { return nil }
        do {
            guard entry.shape.count == 1, entry.shape[0] <= 1 << 16 else {
                throw GGUFError(path: file.path, place: .tensor(name), reason: "has the shape \(entry.shape), expected a short vector")
            }
            return try file.tensor(named: name).doubles()
        } catch {
            issues.append(CheckpointIssue(.tensorShape, path: file.path, "\(error)"))
            return nil
        }
    }
}
