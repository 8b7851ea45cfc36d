import JSON

/// Reads typed values out of a config.json and collects everything that is wrong with it. A value that cannot be used is
/// replaced by a harmless one, so that reading goes on; the caller looks at `issues` before it trusts the result.
public struct ConfigurationReader {
    private var root: JSONValue
    public let path: String
    /// The keys that lead to `root`, each with a dot behind it.
    private var place = ""
    public private(set) var issues: [CheckpointIssue] = []
    /// The context that the caller asks for, in tokens; nil: the model's own.
    public var requestedLength: Int?
    /// False once a size is unknown: tensors cannot be checked against the configuration then.
    public private(set) var hasSizes = true

    /// - Throws: `CheckpointIssue` when the document is no object.
    public init(_ root: JSONValue, path: String) throws {
        guard case .object = root else {
            throw CheckpointIssue(.configuration, path: path, "holds \(root.kindName) instead of an object with the model's configuration")
        }
        self.root = root
        self.path = path
    }

    /// - Parameter reason: Begins with the key at fault.
    public mutating func report(_ kind: CheckpointIssue.Kind, _ reason: String) {
        issues.append(CheckpointIssue(kind, path: path, place + reason))
    }

    /// Reports sizes that contradict each other.
    public mutating func reportSizes(_ reason: String) {
        hasSizes = false
        report(.configuration, reason)
    }

    /// The value of a key; null counts as absent.
    private func value(_ key: String) -> JSONValue? {
        guard let value = root[key], !value.isNull else { return nil }
        return value
    }

    public func has(_ key: String) -> Bool { value(key) != nil }

    /// A whole number in a range, a size of tensors. Without a default the key is required.
    public mutating func size(_ key: String, in range: ClosedRange<Int>, default fallback: Int? = nil) -> Int {
        guard let value = value(key) else {
            if let fallback { return fallback }
            reportSizes("\(key) is missing")
            return range.lowerBound
        }
        guard let number = value.intValue, range.contains(number) else {
            reportSizes("\(key) is \(Self.shown(value)), expected a whole number from \(range.lowerBound) to \(range.upperBound)")
            return range.lowerBound
        }
        return number
    }

    /// As `size`, but a null stands for "none" and differs from a key that is absent.
    mutating func sizeOrNone(_ key: String, in range: ClosedRange<Int>, default fallback: Int?) -> Int? {
        guard let value = root[key] else { return fallback }
        return value.isNull ? nil : size(key, in: range)
    }

    /// A number above 0 and up to 1.
    public mutating func fraction(_ key: String, default fallback: Double) -> Double {
        guard let value = value(key) else { return fallback }
        guard let number = value.doubleValue, number > 0, number <= 1 else {
            report(.configuration, "\(key) is \(Self.shown(value)), expected a number above 0 and up to 1")
            return fallback
        }
        return number
    }

    /// A number above 0.
    mutating func positive(_ key: String, default fallback: Double) -> Double { positiveOrNone(key) ?? fallback }

    /// A number above 0; nil where the key is absent or null.
    mutating func positiveOrNone(_ key: String) -> Double? {
        guard let value = value(key) else { return nil }
        if let number = value.doubleValue, number > 0, number.isFinite { return number }
        report(.configuration, "\(key) is \(Self.shown(value)), expected a number above 0")
        return nil
    }

    /// Whether the key is there with a null, which some configurations distinguish from a key that is absent.
    func isNull(_ key: String) -> Bool { root[key]?.isNull ?? false }

    public mutating func string(_ key: String) -> String? {
        guard let value = value(key) else { return nil }
        if let text = value.stringValue { return text }
        report(.configuration, "\(key) is \(Self.shown(value)), expected a string")
        return nil
    }

    public mutating func flag(_ key: String, default fallback: Bool) -> Bool {
        guard let value = value(key) else { return fallback }
        if let flag = value.boolValue { return flag }
        report(.configuration, "\(key) is \(Self.shown(value)), expected true or false")
        return fallback
    }

    /// An array of strings; empty where the key is absent.
    public mutating func strings(_ key: String) -> [String] {
        guard let value = value(key) else { return [] }
        guard let elements = value.arrayValue, elements.allSatisfy({ $0.stringValue != nil }) else {
            report(.configuration, "\(key) is \(Self.shown(value)), expected an array of strings")
            return []
        }
        return elements.compactMap(\.stringValue)
    }

    /// The elements of an array; empty where the key is absent.
    mutating func array(_ key: String) -> [JSONValue] {
        guard let value = value(key) else { return [] }
        if let elements = value.arrayValue { return elements }
        report(.configuration, "\(key) is \(Self.shown(value)), expected an array")
        return []
    }

    /// An array of numbers above 0; nil where the key is absent.
    mutating func positives(_ key: String) -> [Double]? {
        guard let value = value(key) else { return nil }
        let numbers = value.arrayValue.map { $0.compactMap(\.doubleValue).filter { $0 > 0 && $0.isFinite } }
        if let numbers, numbers.count == value.arrayValue?.count { return numbers }
        report(.configuration, "\(key) is \(Self.shown(value)), expected an array of numbers above 0")
        return nil
    }

    /// Reads the object under a key; nil where the key is absent.
    mutating func nested<Result>(_ key: String, _ read: (inout ConfigurationReader) -> Result) -> Result? {
        guard let value = value(key) else { return nil }
        guard case .object = value else {
            report(.configuration, "\(key) is \(Self.shown(value)), expected an object")
            return nil
        }
        let (outer, outerPlace) = (root, place)
        (root, place) = (value, place + key + ".")
        defer { (root, place) = (outer, outerPlace) }
        return read(&self)
    }

    /// The keys of the object.
    var keys: [String] { root.members.map(\.key) }

    /// What no importer here reads.
    mutating func refuseQuantization() {
        guard has("quantization_config") else { return }
        report(.unsupported, "quantization_config: quantised checkpoints are not supported; convert the original weights")
    }

    /// The members of an object; nil where the key is absent.
    public mutating func members(_ key: String) -> [JSONMember]? {
        guard let value = value(key) else { return nil }
        if case .object(let members) = value { return members }
        report(.configuration, "\(key) is \(Self.shown(value)), expected an object")
        return nil
    }

    /// Whether an object or array has anything in it.
    public func isEmpty(_ key: String) -> Bool { (value(key)?.members.isEmpty ?? true) && (value(key)?.arrayValue?.isEmpty ?? true) }

    private static func shown(_ value: JSONValue) -> String {
        switch value {
        case .integer(let number): return "\(number)"
        case .number(let number): return "\(number)"
        case .bool(let flag): return "\(flag)"
        case .string(let text) where text.utf8.count <= 64: return quoted(text)
        default: return value.kindName
        }
    }
}
