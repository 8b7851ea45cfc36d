/// A filter, test, method or function, with the names of its parameters.
struct Builtin: Sendable {
    typealias Body = @Sendable (TemplateValue, Arguments) throws -> TemplateValue

    private let parameters: [(name: String, isOptional: Bool)]
    private let takesRest: Bool
    private let takesNamedRest: Bool
    private let body: Body

    /// - Parameter signature: `"old new count?"`: names in order, `?` behind optional ones, `*` and `**` for any more.
    init(_ signature: String = "", _ body: @escaping Body) {
        var names = signature.split(separator: " ").map(String.init)
        takesRest = names.contains("*")
        takesNamedRest = names.contains("**")
        names.removeAll { $0 == "*" || $0 == "**" }
        parameters = names.map { $0.hasSuffix("?") ? (String($0.dropLast()), true) : ($0, false) }
        self.body = body
    }

    /// - Throws: `TemplateError` where the arguments do not fit, and whatever the body throws.
    func call(_ interpreter: Interpreter, _ value: TemplateValue, _ name: String, _ call: CallValues) throws -> TemplateValue {
        var named = call.named
        var values: [TemplateValue?] = []
        for (index, parameter) in parameters.enumerated() {
            let position = named.firstIndex { same($0.name, parameter.name) }
            if index < call.positional.count {
                guard position == nil else { throw interpreter.error("'\(name)' got '\(parameter.name)' twice") }
                values.append(call.positional[index])
            } else if let position {
                values.append(named.remove(at: position).value)
            } else {
                guard parameter.isOptional else { throw interpreter.error("'\(name)' needs the argument '\(parameter.name)'") }
                values.append(nil)
            }
        }
        if let extra = named.first, !takesNamedRest { throw interpreter.error("'\(name)' takes no argument '\(extra.name)'") }
        let rest = Array(call.positional.dropFirst(parameters.count))
        guard rest.isEmpty || takesRest else { throw interpreter.error("'\(name)' takes at most \(parameters.count) arguments") }
        return try body(value, Arguments(interpreter: interpreter, name: name, values: values, rest: rest, named: named))
    }
}

/// The evaluated arguments of a call.
struct CallValues {
    var positional: [TemplateValue] = []
    var named: [(name: String, value: TemplateValue)] = []
}

/// The arguments of a built-in, by the order of its parameters.
struct Arguments {
    let interpreter: Interpreter
    /// Of the built-in, for messages.
    let name: String
    fileprivate let values: [TemplateValue?]
    let rest: [TemplateValue]
    let named: [(name: String, value: TemplateValue)]

    fileprivate init(
        interpreter: Interpreter, name: String, values: [TemplateValue?], rest: [TemplateValue], named: [(name: String, value: TemplateValue)]
    ) {
        self.interpreter = interpreter
        self.name = name
        self.values = values
        self.rest = rest
        self.named = named
    }

    /// Nil where the argument was not given.
    subscript(_ index: Int) -> TemplateValue? { index < values.count ? values[index] : nil }

    /// Nil where the argument was not given or is none.
    func value(_ index: Int) -> TemplateValue? { self[index].flatMap { $0.isNone ? nil : $0 } }

    func isTrue(_ index: Int, default standard: Bool = false) -> Bool { self[index]?.isTrue ?? standard }

    func string(_ index: Int) throws -> String? {
        guard let value = value(index) else { return nil }
        guard let text = value.plainText else { throw mismatch(value, "a string") }
        return text
    }

    /// A string that must be given.
    func text(_ index: Int) throws -> String {
        guard let text = try string(index) else { throw mismatch(self[index] ?? .none, "a string") }
        return text
    }

    func int(_ index: Int) throws -> Int? {
        guard let value = value(index) else { return nil }
        guard let integer = value.integer else { throw mismatch(value, "a whole number") }
        return integer
    }

    func mismatch(_ value: TemplateValue, _ wanted: String) -> TemplateError { error("'\(name)' needs \(wanted), not \(value.typeName)") }
    func error(_ reason: String) -> TemplateError { interpreter.error(reason) }
}
