/// The functions that every template knows.
enum GlobalFunction: String, CaseIterable {
    case range, namespace, dict, raise_exception, strftime_now

    var builtin: Builtin {
        switch self {
        case .range: return Self.rangeBuiltin
        case .namespace: return Self.namespaceBuiltin
        case .dict: return Self.dictBuiltin
        case .raise_exception: return Self.raiseBuiltin
        case .strftime_now: return Self.timeBuiltin
        }
    }

    /// As Jinja's sandbox.
    private static let maximumRange = 100_000

    private static let rangeBuiltin = Builtin("start stop? step?") { _, a in
        guard let first = try a.int(0) else { throw a.mismatch(a[0] ?? .none, "a whole number") }
        let second = try a.int(1)
        let (start, stop, step) = (second == nil ? 0 : first, second ?? first, try a.int(2) ?? 1)
        guard step != 0 else { throw a.error("a range with step 0") }
        var values: [TemplateValue] = []
        var value = start
        while step > 0 ? value < stop : value > stop {
            guard values.count < maximumRange else { throw a.interpreter.limit("a range of more than \(maximumRange) numbers") }
            values.append(.int(value))
            let (next, overflow) = value.addingReportingOverflow(step)
            if overflow { break }
            value = next
        }
        return try a.interpreter.list(values, .range)
    }

    private static let namespaceBuiltin = Builtin("* **") { _, a in
        var members: [(name: String, value: TemplateValue)] = []
        for member in try Self.members(of: a) {
            guard case .string(let name) = member.key else { throw a.error("a namespace needs names") }
            members.append((name, member.value))
        }
        try a.interpreter.charge(members.count)
        return a.interpreter.namespace(members)
    }

    private static let dictBuiltin = Builtin("* **") { _, a in try a.interpreter.mapping(members(of: a)) }

    /// Python's `dict(mapping or pairs, name=value)`.
    private static func members(of a: Arguments) throws -> [Mapping.Member] {
        guard a.rest.count <= 1 else { throw a.error("'\(a.name)' takes at most one mapping") }
        var members: [Mapping.Member] = []
        if case .mapping(let mapping)? = a.rest.first {
            members = mapping.members
        } else if let pairs = a.rest.first {
            members = try a.interpreter.elements(of: pairs).map { pair in
                let parts = try a.interpreter.elements(of: pair)
                guard parts.count == 2 else { throw a.mismatch(pair, "pairs of a key and a value") }
                return Mapping.Member(key: parts[0], value: parts[1])
            }
        }
        return members + a.named.map { Mapping.Member(key: .string($0.name), value: $0.value) }
    }

    private static let raiseBuiltin = Builtin("message") { _, a in
        let message = try a.interpreter.text(a[0] ?? .none)
        // One line, whatever the template says.
        throw TemplateError(.raised, line: a.interpreter.line, String(String.UnicodeScalarView(message.unicodeScalars.map { $0.isPrintable ? $0 : " " })))
    }

    private static let timeBuiltin = Builtin("format") { _, a in try a.interpreter.string(a.interpreter.now.formatted(a.text(0), a)) }
}
