/// The methods of values.
enum Methods {
    /// The method of that name; nil where the value has none.
    ///
    /// - Throws: `TemplateError` for what Python has and this does not.
    static func method(_ name: String, of value: TemplateValue, _ interpreter: Interpreter) throws -> Builtin? {
        switch value {
        case .string:
            if unsupported.contains(name) { throw interpreter.error("the string method '\(name)' is not supported") }
            return StringMethods.all[name]
        case .items(let items):
            switch items.kind {
            case .list, .tuple, .range: return name == "copy" && items.kind != .list ? nil : CollectionMethods.list[name]
            case .keys, .values, .members: return nil
            }
        case .mapping:
            if name == "fromkeys" { throw interpreter.error("the method 'fromkeys' is not supported") }
            return CollectionMethods.mapping[name]
        case .loop: return LoopMethods.all[name]
        case .bool, .int, .float:
            if unsupportedOfNumbers.contains(name) { throw interpreter.error("the attribute '\(name)' of a number is not supported") }
            return nil
        default: return nil
        }
    }

    private static let unsupported: Set<String> = ["encode", "expandtabs", "format_map", "maketrans", "translate"]
    private static let unsupportedOfNumbers: Set<String> = [
        "as_integer_ratio", "bit_count", "bit_length", "conjugate", "denominator", "from_bytes", "fromhex", "hex", "imag", "is_integer", "numerator", "real",
        "to_bytes",
    ]

    /// What would change the value, which chat templates may not.
    static func refused(_ value: TemplateValue) -> Set<String> {
        switch value {
        case .mapping: return ["clear", "pop", "popitem", "setdefault", "update"]
        case .items(let items) where items.kind == .list: return ["append", "clear", "pop", "reverse", "insert", "sort", "extend", "remove"]
        default: return []
        }
    }
}

enum LoopMethods {
    static let all: [String: Builtin] = [
        "cycle": Builtin("*") { value, a in
            guard case .loop(let loop) = value, !a.rest.isEmpty else { throw a.error("'cycle' needs values") }
            return a.rest[loop.index % a.rest.count]
        },
        "changed": Builtin("*") { value, a in
            guard case .loop(let loop) = value else { throw a.mismatch(value, "a loop") }
            return .bool(try loop.changed(a.rest, a.interpreter))
        },
    ]
}

enum CollectionMethods {
    static let list: [String: Builtin] = [
        "count": Builtin("value") { value, a in
            let wanted = a[0] ?? .none
            return .int(try a.interpreter.elements(of: value).reduce(0) { try $0 + (a.interpreter.equal($1, wanted) ? 1 : 0) })
        },
        "index": Builtin("value start? stop?") { value, a in
            let wanted = a[0] ?? .none
            let items = try a.interpreter.elements(of: value)
            func bound(_ bound: Int) -> Int { min(max(bound < 0 ? max(bound, -items.count) + items.count : bound, 0), items.count) }
            let (start, stop) = (bound(try a.int(1) ?? 0), bound(try a.int(2) ?? items.count))
            for place in stride(from: start, to: stop, by: 1) where try a.interpreter.equal(items[place], wanted) { return .int(place) }
            throw a.error("the list has no such element")
        },
        "copy": Builtin { value, _ in value },
    ]

    static let mapping: [String: Builtin] = [
        "get": Builtin("key default?") { value, a in try a.interpreter.member(mapping(value, a), a[0] ?? .none) ?? a[1] ?? .none },
        "keys": Builtin { value, a in try a.interpreter.list(mapping(value, a).members.map(\.key), .keys) },
        "values": Builtin { value, a in try a.interpreter.list(mapping(value, a).members.map(\.value), .values) },
        "items": Builtin { value, a in try a.interpreter.list(pairs(mapping(value, a), a.interpreter), .members) },
        "copy": Builtin { value, _ in value },
    ]

    static func mapping(_ value: TemplateValue, _ a: Arguments) throws -> Mapping {
        guard case .mapping(let mapping) = value else { throw a.mismatch(value, "a mapping") }
        return mapping
    }

    /// Tuples of key and value.
    static func pairs(_ mapping: Mapping, _ interpreter: Interpreter) throws -> [TemplateValue] {
        try mapping.members.map { try interpreter.tuple($0.key, $0.value) }
    }
}
