/// Filters that apply a filter, test or attribute to every element. Unlike Jinja's they read at once, not when they are read.
enum SelectionFilters {
    static let all: [String: Builtin] = [
        "map": Builtin("* **", map),
        "select": Builtin("* **") { value, a in try select(value, a, byAttribute: false, keeps: true) },
        "reject": Builtin("* **") { value, a in try select(value, a, byAttribute: false, keeps: false) },
        "selectattr": Builtin("* **") { value, a in try select(value, a, byAttribute: true, keeps: true) },
        "rejectattr": Builtin("* **") { value, a in try select(value, a, byAttribute: true, keeps: false) },
    ]

    private static let map: Builtin.Body = { value, a in
        guard let first = a.rest.first else { return try attributes(value, a) }
        guard let name = first.plainText else { throw a.mismatch(first, "the name of a filter") }
        let arguments = CallValues(positional: Array(a.rest.dropFirst()), named: a.named)
        try a.interpreter.enter(levels: Interpreter.levelsOfCall)
        defer { a.interpreter.leave(levels: Interpreter.levelsOfCall) }
        return try a.interpreter.generator(a.interpreter.elements(of: value).map { try a.interpreter.applyFilter(name, to: $0, arguments) })
    }

    private static func attributes(_ value: TemplateValue, _ a: Arguments) throws -> TemplateValue {
        guard let name = a.named.first(where: { same($0.name, "attribute") })?.value else { throw a.error("'map' needs a filter or an attribute") }
        if let extra = a.named.first(where: { !same($0.name, "attribute") && !same($0.name, "default") }) { throw a.error("'map' takes no argument '\(extra.name)'") }
        let standard = a.named.first { same($0.name, "default") }?.value
        let attribute = try a.interpreter.attributeGetter(name, default: standard.flatMap { $0.isNone ? nil : $0 })
        return try a.interpreter.generator(a.interpreter.elements(of: value).map { try attribute($0) })
    }

    private static func select(_ value: TemplateValue, _ a: Arguments, byAttribute: Bool, keeps: Bool) throws -> TemplateValue {
        var arguments = a.rest
        var attribute: ((TemplateValue) throws -> TemplateValue)?
        if byAttribute {
            guard !arguments.isEmpty else { throw a.error("'\(a.name)' needs an attribute") }
            attribute = try a.interpreter.attributeGetter(arguments.removeFirst())
        }
        guard let test = arguments.first else {
            return try a.interpreter.generator(a.interpreter.elements(of: value).filter { try (attribute?($0) ?? $0).isTrue == keeps })
        }
        guard let name = test.plainText else { throw a.mismatch(test, "the name of a test") }
        let values = CallValues(positional: Array(arguments.dropFirst()), named: a.named)
        return try a.interpreter.generator(a.interpreter.elements(of: value).filter {
            try a.interpreter.applyTest(name, to: attribute?($0) ?? $0, values) == keeps
        })
    }
}
