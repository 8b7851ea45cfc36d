/// Runs statements.
extension Interpreter {
    /// How a body ended.
    enum Flow { case normal, breakLoop, continueLoop }

    func run(_ statements: [Statement]) throws -> Flow {
        try enter()
        defer { leave() }
        for statement in statements {
            line = statement.line
            try charge()
            let flow = try run(statement)
            if flow != .normal { return flow }
        }
        return .normal
    }

    private func run(_ statement: Statement) throws -> Flow {
        switch statement.kind {
        case .text(let text): try write(text)
        case .output(let expression): try output(expression)
        case .conditional(let branches): return try run(branches)
        case .loop(let loop): try run(loop)
        case .macro(let macro): declare(macro.name, try closure(macro))
        case .set, .capture: try set(statement.kind)
        case .filterBlock, .callBlock, .scope: try block(statement.kind)
        case .breakLoop: return .breakLoop
        case .continueLoop: return .continueLoop
        }
        return .normal
    }

    private func output(_ expression: Expression) throws { try write(text(evaluate(expression))) }

    private func run(_ branches: [(condition: Expression?, body: [Statement])]) throws -> Flow {
        for branch in branches {
            if let condition = branch.condition, try !evaluate(condition).isTrue { continue }
            return try run(branch.body)
        }
        return .normal
    }

    private func set(_ kind: Statement.Kind) throws {
        switch kind {
        case .set(let target, let expression): try assign(target, evaluate(expression))
        case .capture(let target, let body, let filters): try assign(target, filtered(body, filters))
        default: break
        }
    }

    private func block(_ kind: Statement.Kind) throws {
        switch kind {
        case .filterBlock(let body, let filters): try write(text(filtered(body, filters)))
        case .callBlock(let callee, let arguments, let caller): try runCall(callee, arguments, caller)
        case .scope(let values, let body): try runScope(values, body)
        default: break
        }
    }

    private func runCall(_ callee: Expression, _ arguments: CallArguments, _ caller: Macro) throws {
        var values = try self.values(of: arguments)
        values.named.append(("caller", try closure(caller)))
        try write(text(call(evaluate(callee), values)))
    }

    private func filtered(_ body: [Statement], _ filters: Expression) throws -> TemplateValue {
        let text = try capture { try scoped { _ = try run(body) } }
        let outer = captured
        captured = text
        defer { captured = outer }
        return try evaluate(filters)
    }

    private func runScope(_ values: [(target: Statement.Target, value: Expression)], _ body: [Statement]) throws {
        // All values are read before any name is set.
        let evaluated = try values.map { try evaluate($0.value) }
        try scoped {
            for (value, result) in zip(values, evaluated) { try assign(value.target, result) }
            _ = try run(body)
        }
    }

    // MARK: Loops

    private func run(_ loop: Loop) throws { try run(loop, over: evaluate(loop.over), depth: 0) }

    /// - Parameter depth: Of a recursive loop: how often `loop(...)` was called around this one.
    func run(_ loop: Loop, over collection: TemplateValue, depth: Int) throws {
        let items = try kept(elements(of: collection), by: loop)
        // As in Jinja, an iteration that `break` or `continue` ends does not count for `else`.
        var completes = false
        if !items.isEmpty {
            let variable = LoopVariable(loop, items, depth: depth, extent: try extent(of: items))
            defer { variable.finish() }
            try scoped {
                for item in items {
                    scopes[scopes.count - 1].clear()
                    try assign(loop.target, item)
                    declare("loop", .loop(variable))
                    let flow = try run(loop.body)
                    if flow == .breakLoop { break }
                    if flow == .normal { completes = true }
                    variable.index += 1
                }
            }
        }
        if !completes { try scoped { _ = try run(loop.otherwise) } }
    }

    /// The items that pass the loop's own `if`.
    private func kept(_ items: [TemplateValue], by loop: Loop) throws -> [TemplateValue] {
        guard let filter = loop.filter else { return items }
        return try scoped {
            try items.filter { item in
                scopes[scopes.count - 1].clear()
                try assign(loop.target, item)
                return try evaluate(filter).isTrue
            }
        }
    }

    // MARK: Macros

    /// A macro as a value, with the variables around it; those of the top level are looked up when it runs.
    private func closure(_ macro: Macro) throws -> TemplateValue {
        let inner = Array(scopes.dropFirst())
        return .macro(MacroValue(macro, scopes: inner, extent: try extent(of: inner.flatMap { Array($0.values) })))
    }

    func call(_ value: MacroValue, _ arguments: CallValues) throws -> TemplateValue {
        try enter(levels: Self.levelsOfCall)
        defer { leave(levels: Self.levelsOfCall) }
        let outer = scopes
        scopes = [outer[0]] + value.scopes + [Scope()]
        // The top level cannot change inside a macro.
        defer { scopes = outer }
        for parameter in try bind(value.macro, arguments) { declare(parameter.name, try standard(of: parameter)) }
        return .string(try capture { _ = try run(value.macro.body) })
    }

    private func standard(of parameter: (name: String, standard: Expression?)) throws -> TemplateValue {
        guard let standard = parameter.standard else { return .undefined(parameter.name) }
        return try evaluate(standard)
    }

    /// Declares the arguments.
    ///
    /// - Returns: The parameters that got none.
    private func bind(_ macro: Macro, _ arguments: CallValues) throws -> [(name: String, standard: Expression?)] {
        var missing: [(name: String, standard: Expression?)] = []
        var named = arguments.named
        func take(_ name: String) -> TemplateValue? { named.firstIndex { same($0.name, name) }.map { named.remove(at: $0).value } }
        for (index, parameter) in macro.parameters.enumerated() {
            if index < arguments.positional.count {
                declare(parameter.name, arguments.positional[index])
            } else if let value = take(parameter.name) {
                declare(parameter.name, value)
            } else {
                missing.append(parameter)
            }
        }
        if macro.takesCaller, !macro.parameters.contains(where: { same($0.name, "caller") }) { declare("caller", take("caller") ?? .undefined("caller")) }
        if macro.takesNamedRest {
            declare("kwargs", try mapping(named.map { Mapping.Member(key: .string($0.name), value: $0.value) }))
        } else if let extra = named.first {
            throw error("the macro '\(macro.name)' takes no argument '\(extra.name)'")
        }
        let rest = Array(arguments.positional.dropFirst(macro.parameters.count))
        if macro.takesRest {
            declare("varargs", try list(rest, .tuple))
        } else if !rest.isEmpty {
            throw error("the macro '\(macro.name)' takes \(macro.parameters.count) arguments, not \(arguments.positional.count)")
        }
        return missing
    }
}

/// `loop` inside a loop.
final class LoopVariable {
    let loop: Loop
    let items: [TemplateValue]
    let depth: Int
    let extent: Extent
    var index = 0
    /// What `changed` saw last.
    private var seen: [TemplateValue]?

    init(_ loop: Loop, _ items: [TemplateValue], depth: Int, extent: Extent) {
        self.loop = loop
        self.items = items
        self.depth = depth
        self.extent = extent
    }

    /// Python's attributes of the variable; nil where there is none of that name.
    func attribute(_ name: String) -> TemplateValue? {
        switch name {
        case "index": return .int(index + 1)
        case "index0": return .int(index)
        case "revindex": return .int(items.count - index)
        case "revindex0": return .int(items.count - index - 1)
        case "first": return .bool(index == 0)
        case "last": return .bool(index == items.count - 1)
        case "length": return .int(items.count)
        case "depth": return .int(depth + 1)
        case "depth0": return .int(depth)
        case "previtem": return index > 0 ? items[index - 1] : .undefined("previtem")
        case "nextitem": return index + 1 < items.count ? items[index + 1] : .undefined("nextitem")
        default: return nil
        }
    }

    /// Whether the values differ from those of the call before.
    func changed(_ values: [TemplateValue], _ interpreter: Interpreter) throws -> Bool {
        defer { seen = values }
        guard let seen, seen.count == values.count else { return true }
        return try !zip(seen, values).allSatisfy { try interpreter.equal($0, $1) }
    }

    /// The values may hold the variable itself.
    func finish() { seen = nil }
}
