/// Filters of mappings, attributes and missing values.
enum MappingFilters {
    static let all: [String: Builtin] = [
        "default": Builtin("default_value? boolean?", standard), "d": Builtin("default_value? boolean?", standard),
        "items": Builtin { value, a in
            if value.isUndefined { return try a.interpreter.generator([]) }
            return try a.interpreter.generator(CollectionMethods.pairs(CollectionMethods.mapping(value, a), a.interpreter))
        },
        "dictsort": Builtin("case_sensitive? by? reverse?") { value, a in
            let members = try CollectionMethods.mapping(value, a).members
            let by = try a.string(1) ?? "key"
            guard by == "key" || by == "value" else { throw a.error("'dictsort' sorts by key or value") }
            let pairs = try members.map { member in
                var key = by == "key" ? member.key : member.value
                if !a.isTrue(0), case .string(let text) = key { key = try a.interpreter.string(LetterCase.lower(a.interpreter.scalars(text))) }
                return (pair: try a.interpreter.tuple(member.key, member.value), key: key)
            }
            return try a.interpreter.list(a.interpreter.sorted(pairs, by: \.key, reverse: a.isTrue(2)).map(\.pair))
        },
        "attr": Builtin("name") { value, a in
            // Attributes in Python's sense only: a mapping's members are none.
            let name = try a.text(0)
            if case .mapping = value { return CollectionMethods.mapping[name] == nil ? .undefined(name) : try a.interpreter.attribute(value, name) }
            return try a.interpreter.attribute(value, name)
        },
    ]

    private static let standard: Builtin.Body = { value, a in
        value.isUndefined || a.isTrue(1) && !value.isTrue ? a[0] ?? .string("") : value
    }
}
