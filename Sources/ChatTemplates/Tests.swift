/// The tests, `value is name(...)`.
enum Tests {
    static let all: [String: Builtin] = [kinds, numbers, texts, relations].reduce(into: [:]) { $0.merge($1) { first, _ in first } }

    private static func test(_ signature: String = "", _ body: @escaping @Sendable (TemplateValue, Arguments) throws -> Bool) -> Builtin {
        Builtin(signature) { .bool(try body($0, $1)) }
    }

    private static let kinds: [String: Builtin] = [
        "defined": test { value, _ in !value.isUndefined },
        "undefined": test { value, _ in value.isUndefined },
        "none": test { value, _ in value.isNone },
        "boolean": test { value, _ in if case .bool = value { true } else { false } },
        "true": test { value, _ in if case .bool(true) = value { true } else { false } },
        "false": test { value, _ in if case .bool(false) = value { true } else { false } },
        "integer": test { value, _ in if case .int = value { true } else { false } },
        "float": test { value, _ in if case .float = value { true } else { false } },
        "number": test { value, _ in value.number != nil },
        "string": test { value, _ in value.plainText != nil },
        "escaped": test { value, _ in if case .markup = value { true } else { false } },
        "mapping": test { value, _ in if case .mapping = value { true } else { false } },
        "sequence": test { value, _ in
            switch value {
            case .items(let items): return items.hasPositions
            case .string, .markup, .mapping, .undefined: return true
            default: return false
            }
        },
        "iterable": test { value, _ in
            switch value {
            case .items, .string, .markup, .mapping, .undefined, .generator, .loop: return true
            default: return false
            }
        },
        "callable": test { value, _ in
            switch value {
            case .function, .macro, .method, .loop, .undefined: return true
            default: return false
            }
        },
        "filter": test { value, _ in value.plainText.map { Filters.all[$0] != nil } ?? false },
        "test": test { value, _ in value.plainText.map { Tests.all[$0] != nil } ?? false },
    ]

    private static let numbers: [String: Builtin] = [
        "odd": test { value, a in try remainder(value, .int(2), a) == 1 },
        "even": test { value, a in try remainder(value, .int(2), a) == 0 },
        "divisibleby": test("num") { value, a in try remainder(value, a[0] ?? .none, a) == 0 },
    ]

    private static func remainder(_ value: TemplateValue, _ divisor: TemplateValue, _ a: Arguments) throws -> Double {
        guard value.number != nil, let result = try a.interpreter.apply(.modulo, value, divisor).number else { throw a.mismatch(value, "a number") }
        return result
    }

    private static let texts: [String: Builtin] = [
        "lower": test { value, a in LetterCase.isLower(try a.interpreter.scalars(a.interpreter.text(value))) },
        "upper": test { value, a in LetterCase.isUpper(try a.interpreter.scalars(a.interpreter.text(value))) },
    ]

    private static let relations: [String: Builtin] = [
        ("eq", Expression.Binary.equal), ("equalto", .equal), ("==", .equal), ("ne", .notEqual), ("!=", .notEqual),
        ("lt", .less), ("lessthan", .less), ("<", .less), ("le", .lessOrEqual), ("<=", .lessOrEqual),
        ("gt", .greater), ("greaterthan", .greater), (">", .greater), ("ge", .greaterOrEqual), (">=", .greaterOrEqual), ("in", .in),
    ].reduce(into: ["sameas": test("other", isSame)]) { tests, entry in
        let (name, binary) = entry
        tests[name] = Builtin("other") { value, a in try a.interpreter.apply(binary, value, a[0] ?? .none) }
    }

    /// Python's `is`, where that does not depend on how values are kept in memory.
    private static let isSame: @Sendable (TemplateValue, Arguments) throws -> Bool = { value, a in
        switch (value, a[0] ?? .none) {
        case (.none, .none): return true
        case (.bool(let x), .bool(let y)): return x == y
        case (.namespace(let x), .namespace(let y)): return x === y
        case (.none, _), (.bool, _), (_, .none), (_, .bool): return false
        default: throw a.error("'sameas' is supported for true, false, none and namespaces only; use '=='")
        }
    }
}

extension Interpreter {
    func applyTest(_ name: String, to value: TemplateValue, _ arguments: CallValues) throws -> Bool {
        guard let test = Tests.all[name] else { throw error("unknown test '\(name)'") }
        return try test.call(self, value, name, arguments).isTrue
    }
}
