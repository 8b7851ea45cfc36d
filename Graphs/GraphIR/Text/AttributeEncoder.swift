import Tensors

/// Turns the `Codable` properties of an operator into attributes.
struct AttributeEncoder: Encoder {
    let codingPath: [any CodingKey] = []
    let userInfo: [CodingUserInfoKey: Any] = [:]
    private let slot: Slot

    /// Where one value goes; a class, since containers outlive the calls that make them.
    private final class Slot {
        var scalar: Attribute?
        var items: [Slot]?
        var members: [(name: String, slot: Slot)]?

        var attribute: Attribute {
            if let items { return .list(items.map(\.attribute)) }
            if let members { return .record(members.map { NamedAttribute(name: $0.name, value: $0.slot.attribute) }) }
            return scalar ?? .record([])
        }
    }

    static func encode(_ value: some Encodable) throws -> Attribute {
        let slot = Slot()
        try encode(value, into: slot)
        return slot.attribute
    }

    private static func encode<Value: Encodable>(_ value: Value, into slot: Slot) throws {
        switch value {
        case let value as Bool: slot.scalar = .bare(value ? "true" : "false")
        case let value as Float: slot.scalar = .bare(value.description)
        case let value as Double: slot.scalar = .bare(value.description)
        case let value as String: slot.scalar = .string(value)
        case let value as Dim: slot.scalar = .bare(value.description)
        case let value as any FixedWidthInteger: slot.scalar = .bare(String(describing: value))
        default: try value.encode(to: AttributeEncoder(slot: slot))
        }
    }

    func container<Key: CodingKey>(keyedBy type: Key.Type) -> KeyedEncodingContainer<Key> {
        slot.members = []
        return KeyedEncodingContainer(Keyed(slot: slot))
    }

    func unkeyedContainer() -> any UnkeyedEncodingContainer {
        slot.items = []
        return List(slot: slot)
    }

    func singleValueContainer() -> any SingleValueEncodingContainer { Single(slot: slot) }

    private struct Keyed<Key: CodingKey>: KeyedEncodingContainerProtocol {
        let slot: Slot
        let codingPath: [any CodingKey] = []

        private func add(_ key: Key) -> Slot {
            let member = Slot()
            slot.members?.append((key.stringValue, member))
            return member
        }

        func encodeNil(forKey key: Key) {}
        func encode<Value: Encodable>(_ value: Value, forKey key: Key) throws { try AttributeEncoder.encode(value, into: add(key)) }

        func nestedContainer<Nested: CodingKey>(keyedBy type: Nested.Type, forKey key: Key) -> KeyedEncodingContainer<Nested> {
            AttributeEncoder(slot: add(key)).container(keyedBy: type)
        }
        func nestedUnkeyedContainer(forKey key: Key) -> any UnkeyedEncodingContainer {
            AttributeEncoder(slot: add(key)).unkeyedContainer()
        }
        func superEncoder() -> any Encoder { AttributeEncoder(slot: slot) }
        func superEncoder(forKey key: Key) -> any Encoder { AttributeEncoder(slot: add(key)) }
    }

    private struct List: UnkeyedEncodingContainer {
        let slot: Slot
        let codingPath: [any CodingKey] = []
        var count: Int { slot.items?.count ?? 0 }

        private func add() -> Slot {
            let item = Slot()
            slot.items?.append(item)
            return item
        }

        func encodeNil() throws { throw AttributeError("a list with an absent element has no text form") }
        func encode<Value: Encodable>(_ value: Value) throws { try AttributeEncoder.encode(value, into: add()) }

        func nestedContainer<Nested: CodingKey>(keyedBy type: Nested.Type) -> KeyedEncodingContainer<Nested> {
            AttributeEncoder(slot: add()).container(keyedBy: type)
        }
        func nestedUnkeyedContainer() -> any UnkeyedEncodingContainer { AttributeEncoder(slot: add()).unkeyedContainer() }
        func superEncoder() -> any Encoder { AttributeEncoder(slot: add()) }
    }

    private struct Single: SingleValueEncodingContainer {
        let slot: Slot
        let codingPath: [any CodingKey] = []

        func encodeNil() throws { throw AttributeError("an absent value has no text form") }
        func encode<Value: Encodable>(_ value: Value) throws { try AttributeEncoder.encode(value, into: slot) }
    }
}
