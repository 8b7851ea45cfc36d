/// The filters, `value | name(...)`.
enum Filters {
    static let all: [String: Builtin] = [TextFilters.all, NumberFilters.all, SequenceFilters.all, SelectionFilters.all, OrderFilters.all, MappingFilters.all]
        .reduce(into: [:]) { $0.merge($1) { first, _ in first } }

    /// Those that know what to do with escaped text.
    fileprivate static let forEscaped: Set<String> = ["safe", "escape", "e", "string", "length", "count", "default", "d"]
}

extension Interpreter {
    func applyFilter(_ name: String, to value: TemplateValue, _ arguments: CallValues) throws -> TemplateValue {
        guard let filter = Filters.all[name] else { throw error("unknown filter '\(name)'") }
        if case .markup = value, !Filters.forEscaped.contains(name) { throw error("'\(name)' of escaped text is not supported; escape the result instead") }
        return try filter.call(self, value, name, arguments)
    }
}
