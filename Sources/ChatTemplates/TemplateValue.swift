import JSON

/// A value of a template: Python's types as far as templates see them. Lives within one rendering, on one thread.
enum TemplateValue {
    /// A name or member that does not exist; carries what was asked for.
    case undefined(String)
    case none
    case bool(Bool)
    case int(Int)
    case float(Double)
    case string(String)
    /// What `escape` and `safe` return: text that is joined with escaped text only.
    case markup(String)
    case items(Items)
    case mapping(Mapping)
    /// What filters such as `map` and `select` return: read once, without length.
    case generator(Generator)
    /// `namespace()`: the one thing that a template can change.
    case namespace(Namespace)
    case loop(LoopVariable)
    case macro(MacroValue)
    case function(GlobalFunction)
    case method(BoundMethod)
}

/// How deep and how large a value is, counted when it is made so that nothing that walks over it later can overflow the stack or
/// take for ever (a list of a list of a list that all hold the same list twice is small in memory and endless in print).
struct Extent {
    var depth = 0
    var size = 1

    /// Deeper values would only overflow the stack.
    static let maximumDepth = 64
    static let maximumSize = 1 << 22

    /// Makes room for a member.
    mutating func include(_ other: Extent) {
        depth = max(depth, other.depth + 1)
        size = min(size + other.size, Self.maximumSize + 1)
    }

    var isAllowed: Bool { depth <= Self.maximumDepth && size <= Self.maximumSize }
}

/// Python's finite sequences.
final class Items {
    enum Kind: String {
        case list, tuple, range
        case keys = "dict_keys", values = "dict_values", members = "dict_items"
    }
    let kind: Kind
    let values: [TemplateValue]
    let extent: Extent
    /// A pair that `groupby` made, whose parts are also called `grouper` and `list`.
    let isGroup: Bool

    init(_ kind: Kind, _ values: [TemplateValue], _ extent: Extent, isGroup: Bool = false) {
        self.isGroup = isGroup
        self.kind = kind
        self.values = values
        self.extent = extent
    }

    /// Whether `[0]` works; the views of a mapping can only be looped over.
    var hasPositions: Bool { kind == .list || kind == .tuple || kind == .range }
}

/// Python's `dict`: keys in the order they came.
final class Mapping {
    struct Member {
        let key: TemplateValue
        let value: TemplateValue
    }
    let members: [Member]
    let extent: Extent

    init(_ members: [Member], _ extent: Extent) {
        self.members = members
        self.extent = extent
    }
}

/// An iterator: what was read is gone.
final class Generator {
    private var rest: ArraySlice<TemplateValue>
    let extent: Extent

    init(_ values: [TemplateValue], _ extent: Extent) {
        rest = values[...]
        self.extent = extent
    }

    func next() -> TemplateValue? { rest.popFirst() }

    func all() -> [TemplateValue] {
        defer { rest = [] }
        return Array(rest)
    }
}

/// Attributes that a template sets with `{% set ns.name = ... %}`.
final class Namespace {
    private var members: [(name: String, value: TemplateValue)] = []

    subscript(_ name: String) -> TemplateValue? { members.first { same($0.name, name) }?.value }

    func set(_ name: String, _ value: TemplateValue) {
        if let index = members.firstIndex(where: { same($0.name, name) }) {
            members[index].value = value
        } else {
            members.append((name: name, value: value))
        }
    }

    /// A namespace can hold itself; rendering empties it so that it goes away.
    func clear() { members = [] }
}

/// A macro with the variables around its definition.
final class MacroValue {
    let macro: Macro
    /// The scopes inside the template's top level.
    let scopes: [Scope]
    let extent: Extent

    init(_ macro: Macro, scopes: [Scope], extent: Extent) {
        self.macro = macro
        self.scopes = scopes
        self.extent = extent
    }
}

/// `text.strip` before it is called.
final class BoundMethod {
    let receiver: TemplateValue
    let name: String
    let method: Builtin

    init(_ receiver: TemplateValue, _ name: String, _ method: Builtin) {
        self.receiver = receiver
        self.name = name
        self.method = method
    }
}

/// Strings are equal when their bytes are; Swift's `==` would also join canonically equivalent ones.
func same(_ a: String, _ b: String) -> Bool { a.utf8.count == b.utf8.count && a.utf8.elementsEqual(b.utf8) }

extension TemplateValue {
    /// A value of the caller.
    init(_ json: JSONValue, depth: Int = 0) throws {
        guard depth <= Extent.maximumDepth else {
            throw TemplateError(.limit, line: 1, "the messages or tools nest deeper than \(Extent.maximumDepth) levels")
        }
        switch json {
        case .null: self = .none
        case .bool(let value): self = .bool(value)
        case .integer(let value): self = .int(value)
        case .number(let value): self = .float(value)
        case .string(let value): self = .string(value)
        case .array(let array):
            var extent = Extent()
            let values = try array.map { try TemplateValue($0, depth: depth + 1) }
            for value in values { extent.include(value.extent) }
            self = .items(Items(.list, values, extent))
        case .object(let object):
            var extent = Extent()
            let members = try object.map { Mapping.Member(key: .string($0.key), value: try TemplateValue($0.value, depth: depth + 1)) }
            for member in members {
                extent.include(member.key.extent)
                extent.include(member.value.extent)
            }
            self = .mapping(Mapping(members, extent))
        }
    }

    var extent: Extent {
        switch self {
        case .string(let text), .markup(let text): return Extent(depth: 0, size: 1 + text.utf8.count >> 4)
        case .items(let items): return items.extent
        case .mapping(let mapping): return mapping.extent
        case .generator(let generator): return generator.extent
        case .loop(let loop): return loop.extent
        case .macro(let macro): return macro.extent
        case .method(let method):
            var extent = Extent()
            extent.include(method.receiver.extent)
            return extent
        default: return Extent()
        }
    }

    /// Python's truth.
    var isTrue: Bool {
        switch self {
        case .undefined, .none: return false
        case .bool(let value): return value
        case .int(let value): return value != 0
        case .float(let value): return value != 0
        case .string(let value), .markup(let value): return !value.isEmpty
        case .items(let items): return !items.values.isEmpty
        case .mapping(let mapping): return !mapping.members.isEmpty
        case .loop(let loop): return !loop.items.isEmpty
        case .generator, .namespace, .macro, .function, .method: return true
        }
    }

    var isUndefined: Bool { if case .undefined = self { true } else { false } }
    var isNone: Bool { if case .none = self { true } else { false } }

    /// What the value is, in error messages.
    var typeName: String {
        switch self {
        case .undefined(let name): return name.isEmpty ? "an undefined value" : "'\(name)', which is undefined,"
        case .none: return "none"
        case .bool: return "a boolean"
        case .int, .float: return "a number"
        case .string: return "a string"
        case .markup: return "escaped text"
        case .items(let items): return "a \(items.kind.rawValue)"
        case .mapping: return "a mapping"
        case .generator: return "a generator"
        case .namespace: return "a namespace"
        case .loop: return "the loop variable"
        case .macro, .function, .method: return "a function"
        }
    }

    /// Bools count as 0 and 1.
    var number: Double? {
        switch self {
        case .bool(let value): return value ? 1 : 0
        case .int(let value): return Double(value)
        case .float(let value): return value
        default: return nil
        }
    }

    var integer: Int? {
        switch self {
        case .bool(let value): return value ? 1 : 0
        case .int(let value): return value
        default: return nil
        }
    }
}
