/// Python's `==`, `<` and `in`. What they cost is charged by their callers, from the extents of the values.
extension TemplateValue {
    static func equal(_ a: TemplateValue, _ b: TemplateValue) -> Bool {
        if let x = a.integer, let y = b.integer { return x == y }
        if let x = a.number, let y = b.number { return x == y }
        switch (a, b) {
        case (.none, .none), (.undefined, .undefined): return true
        case (.string(let x), .string(let y)), (.markup(let x), .markup(let y)), (.string(let x), .markup(let y)), (.markup(let x), .string(let y)):
            return same(x, y)
        case (.items(let x), .items(let y)):
            return x === y || x.kind == y.kind && x.values.count == y.values.count && zip(x.values, y.values).allSatisfy { equal($0, $1) }
        case (.mapping(let x), .mapping(let y)):
            return x === y || x.members.count == y.members.count
                && x.members.allSatisfy { member in y[member.key].map { equal(member.value, $0) } ?? false }
        case (.namespace(let x), .namespace(let y)): return x === y
        case (.generator(let x), .generator(let y)): return x === y
        case (.loop(let x), .loop(let y)): return x === y
        case (.macro(let x), .macro(let y)): return x === y
        case (.function(let x), .function(let y)): return x == y
        default: return false
        }
    }

    /// -1, 0 or 1; nil where the two have no order.
    static func order(_ a: TemplateValue, _ b: TemplateValue) -> Int? {
        if let x = a.integer, let y = b.integer { return x < y ? -1 : x == y ? 0 : 1 }
        if let x = a.number, let y = b.number { return x < y ? -1 : x == y ? 0 : x > y ? 1 : nil }
        if let x = a.plainText, let y = b.plainText {
            return same(x, y) ? 0 : x.unicodeScalars.lexicographicallyPrecedes(y.unicodeScalars) ? -1 : 1
        }
        if case .items(let x) = a, case .items(let y) = b, x.kind == y.kind, x.kind == .list || x.kind == .tuple {
            for (p, q) in zip(x.values, y.values) where !equal(p, q) { return order(p, q) }
            return x.values.count < y.values.count ? -1 : x.values.count == y.values.count ? 0 : 1
        }
        return nil
    }

    /// The text of a string, escaped or not.
    var plainText: String? {
        switch self {
        case .string(let text), .markup(let text): return text
        default: return nil
        }
    }

    /// Whether the value can be a key of a mapping.
    var isHashable: Bool {
        switch self {
        case .items(let items): return items.kind == .range || items.kind == .tuple && items.values.allSatisfy(\.isHashable)
        case .mapping: return false
        default: return true
        }
    }
}

extension Mapping {
    subscript(_ key: TemplateValue) -> TemplateValue? { members.first { TemplateValue.equal($0.key, key) }?.value }
    subscript(_ key: String) -> TemplateValue? {
        members.first { if case .string(let name) = $0.key { same(name, key) } else { false } }?.value
    }
}
