import Tensors

/// Gives the attributes of graph text to an operator's `init(from:)`.
struct AttributeDecoder: Decoder {
    let codingPath: [any CodingKey] = []
    let userInfo: [CodingUserInfoKey: Any] = [:]
    private let attribute: Attribute

    init(_ attribute: Attribute) { self.attribute = attribute }

    /// Every failure is an `AttributeError`, or a `DecodingError` of an enum that has no such case.
    private static func decode<Value: Decodable>(_ type: Value.Type, from attribute: Attribute) throws -> Value {
        if type == Bool.self || type == Float.self || type == Double.self || type == String.self || type == Dim.self
            || type is any FixedWidthInteger.Type
        {
            guard let value = try scalar(type, attribute) as? Value else {
                throw AttributeError("'\(attribute.text.prefix(40))' is not \(name(of: type))")
            }
            return value
        }
        return try Value(from: AttributeDecoder(attribute))
    }

    private static func scalar(_ type: Any.Type, _ attribute: Attribute) throws -> Any? {
        if case .quoted(let text) = attribute { return type == String.self ? text : nil }
        guard case .bare(let text) = attribute else { return nil }
        if type == String.self { return TextScanner.isWord(text) ? text : nil }
        if type == Bool.self { return text == "true" ? true : text == "false" ? false : nil }
        if type == Dim.self { return try Dim(parsing: text) }
        // NaN is refused: it would make an operator unequal to itself.
        if type == Float.self { return Float(text).flatMap { $0.isNaN ? nil : $0 } }
        if type == Double.self { return Double(text).flatMap { $0.isNaN ? nil : $0 } }
        guard let integer = type as? any FixedWidthInteger.Type else { return nil }
        return read(integer, text)
    }

    private static func read<Integer: FixedWidthInteger>(_ type: Integer.Type, _ text: String) -> Integer? { Integer(text) }

    private static func name(of type: Any.Type) -> String {
        if type == Bool.self { return "true or false" }
        if type == String.self { return "a word or a string" }
        if type == Float.self || type == Double.self { return "a number" }
        return type == Dim.self ? "a dim" : "an integer that fits"
    }

    func container<Key: CodingKey>(keyedBy type: Key.Type) throws -> KeyedDecodingContainer<Key> {
        guard case .record(let members) = attribute else { throw AttributeError("'\(attribute.text.prefix(40))' is no record") }
        return KeyedDecodingContainer(Keyed(members: members))
    }

    func unkeyedContainer() throws -> any UnkeyedDecodingContainer {
        guard case .list(let items) = attribute else { throw AttributeError("'\(attribute.text.prefix(40))' is no list") }
        return List(items: items)
    }

    func singleValueContainer() -> any SingleValueDecodingContainer { Single(attribute: attribute) }

    private struct Keyed<Key: CodingKey>: KeyedDecodingContainerProtocol {
        let members: [NamedAttribute]
        let codingPath: [any CodingKey] = []

        var allKeys: [Key] { members.compactMap { Key(stringValue: $0.name) } }

        private func find(_ key: Key) throws -> Attribute {
            guard let member = members.first(where: { $0.name == key.stringValue }) else {
                throw AttributeError("the attribute '\(key.stringValue)' is missing")
            }
            return member.value
        }

        func contains(_ key: Key) -> Bool { members.contains { $0.name == key.stringValue } }
        func decodeNil(forKey key: Key) -> Bool { !contains(key) }
        func decode<Value: Decodable>(_ type: Value.Type, forKey key: Key) throws -> Value {
            let attribute = try find(key)
            do {
                return try AttributeDecoder.decode(type, from: attribute)
            } catch let error as AttributeError {
                throw AttributeError("attribute '\(key.stringValue)': \(error)")
            }
        }

        func nestedContainer<Nested: CodingKey>(keyedBy type: Nested.Type, forKey key: Key) throws -> KeyedDecodingContainer<Nested> {
            try AttributeDecoder(find(key)).container(keyedBy: type)
        }
        func nestedUnkeyedContainer(forKey key: Key) throws -> any UnkeyedDecodingContainer {
            try AttributeDecoder(find(key)).unkeyedContainer()
        }
        func superDecoder() -> any Decoder { AttributeDecoder(.record(members)) }
        func superDecoder(forKey key: Key) throws -> any Decoder { AttributeDecoder(try find(key)) }
    }

    private struct List: UnkeyedDecodingContainer {
        let items: [Attribute]
        let codingPath: [any CodingKey] = []
        private(set) var currentIndex = 0

        init(items: [Attribute]) { self.items = items }

        var count: Int? { items.count }
        var isAtEnd: Bool { currentIndex >= items.count }

        private mutating func next() throws -> Attribute {
            guard !isAtEnd else { throw AttributeError("a list is too short") }
            defer { currentIndex += 1 }
            return items[currentIndex]
        }

        func decodeNil() -> Bool { false }
        mutating func decode<Value: Decodable>(_ type: Value.Type) throws -> Value { try AttributeDecoder.decode(type, from: next()) }

        mutating func nestedContainer<Nested: CodingKey>(keyedBy type: Nested.Type) throws -> KeyedDecodingContainer<Nested> {
            try AttributeDecoder(next()).container(keyedBy: type)
        }
        mutating func nestedUnkeyedContainer() throws -> any UnkeyedDecodingContainer {
            try AttributeDecoder(next()).unkeyedContainer()
        }
        mutating func superDecoder() throws -> any Decoder { AttributeDecoder(try next()) }
    }

    private struct Single: SingleValueDecodingContainer {
        let attribute: Attribute
        let codingPath: [any CodingKey] = []

        func decodeNil() -> Bool { false }
        func decode<Value: Decodable>(_ type: Value.Type) throws -> Value { try AttributeDecoder.decode(type, from: attribute) }
    }
}
