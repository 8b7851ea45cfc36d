import JSON
import Tensors

/// An operator's attribute in graph text: a word, number or dim as written (`0`, `1e-12`, `gelu`, `2*batch`), a quoted string,
/// a list, or a record of named attributes. Which Swift type a bare word stands for, the operator's `Codable` says.
enum Attribute: Sendable, Hashable {
    case bare(String)
    case quoted(String)
    case list([Attribute])
    case record([NamedAttribute])

    /// How deep lists may nest.
    static let maximumDepth = 8

    var text: String {
        switch self {
        case .bare(let text): return text
        case .quoted(let text): return JSONValue.string(text).text
        case .list(let items): return "[" + items.map(\.text).joined(separator: ", ") + "]"
        case .record(let members): return "{" + members.map { "\($0.name) = \($0.value.text)" }.joined(separator: ", ") + "}"
        }
    }

    /// A string as the simplest attribute that reads back as it.
    static func string(_ text: String) -> Attribute {
        TextScanner.isWord(text) ? .bare(text) : .quoted(text)
    }
}

struct NamedAttribute: Sendable, Hashable {
    let name: String
    let value: Attribute
}

/// An attribute that an operator cannot take.
struct AttributeError: Error, Sendable, Hashable, CustomStringConvertible {
    let description: String
    init(_ description: String) { self.description = description }
}

extension Operator {
    /// The attributes in the order of the stored properties, absent optionals left out; of a family without its kind, which the name
    /// tells.
    var attributes: [NamedAttribute] {
        get throws {
            guard case .record(let members) = try AttributeEncoder.encode(self) else { return [] }
            return self is any OperatorFamily ? members.filter { $0.name != "kind" } : members
        }
    }
}

/// The operators that graph text may name.
struct OperatorTable {
    private var types: [String: any Operator.Type] = [:]

    init(_ registry: [any Operator.Type]) {
        for type in registry {
            if let family = type as? any OperatorFamily.Type {
                for name in family.kindNames { types[name] = type }
            } else {
                types[type.name] = type
            }
        }
    }

    /// - Throws: `AttributeError` for an unknown operator, and for attributes that are missing, unknown or of a wrong type.
    func make(_ name: String, _ attributes: [NamedAttribute]) throws -> any Operator {
        guard let type = types[name] else { throw AttributeError("unknown operator '\(name)'") }
        var members = attributes
        if type is any OperatorFamily.Type { members.append(NamedAttribute(name: "kind", value: .bare(name))) }
        let op: any Operator
        do {
            op = try type.init(from: AttributeDecoder(.record(members)))
        } catch DecodingError.dataCorrupted(let context) {
            throw AttributeError("\(name): \(context.debugDescription)")
        } catch {
            throw AttributeError("\(name): \(error)")
        }
        let known = try op.attributes
        if let unknown = attributes.first(where: { attribute in !known.contains { $0.name == attribute.name } }) {
            throw AttributeError("\(name) has no attribute '\(unknown.name)'")
        }
        return op
    }
}
