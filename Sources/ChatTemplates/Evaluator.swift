/// Evaluates expressions with Python's semantics, as far as templates use them.
extension Interpreter {
    /// This and the functions it calls take stack at every level, so they are small and name few values.
    func evaluate(_ expression: Expression) throws -> TemplateValue {
        try enter()
        defer { leave() }
        line = expression.line
        switch expression.kind {
        case .literal, .name, .captured: return leaf(expression.kind)
        case .list, .tuple, .mapping, .concatenation: return try collection(expression.kind)
        case .attribute, .item: return try member(expression.kind)
        case .slice(let base, let start, let stop, let step): return try slice(base, start, stop, step)
        case .call, .filter, .test: return try application(expression.kind)
        case .unary, .binary, .conditional: return try operation(expression.kind)
        }
    }

    private func leaf(_ kind: Expression.Kind) -> TemplateValue {
        switch kind {
        case .literal(let literal): return TemplateValue(literal)
        case .name(let name): return lookup(name)
        default: return .string(captured)
        }
    }

    private func collection(_ kind: Expression.Kind) throws -> TemplateValue {
        switch kind {
        case .list(let items): return try list(evaluate(items))
        case .tuple(let items): return try list(evaluate(items), .tuple)
        case .mapping(let members): return try mapping(evaluate(members))
        case .concatenation(let parts): return try concatenated(evaluate(parts))
        default: return .none
        }
    }

    private func member(_ kind: Expression.Kind) throws -> TemplateValue {
        switch kind {
        case .attribute(let base, let name): return try attribute(evaluate(base), name)
        case .item(let base, let index): return try item(evaluate(base), evaluate(index))
        default: return .none
        }
    }

    private func application(_ kind: Expression.Kind) throws -> TemplateValue {
        switch kind {
        case .call(let callee, let arguments): return try call(evaluate(callee), values(of: arguments))
        case .filter(let base, let name, let arguments): return try applyFilter(name, to: evaluate(base), values(of: arguments))
        case .test(let base, let name, let arguments, let negated): return .bool(try applyTest(name, to: evaluate(base), values(of: arguments)) != negated)
        default: return .none
        }
    }

    private func operation(_ kind: Expression.Kind) throws -> TemplateValue {
        switch kind {
        case .unary(let unary, let operand): return try apply(unary, evaluate(operand))
        case .binary(let binary, let left, let right): return try evaluate(binary, left, right)
        case .conditional(let condition, let then, let otherwise):
            if try evaluate(condition).isTrue { return try evaluate(then) }
            guard let otherwise else { return .undefined("") }
            return try evaluate(otherwise)
        default: return .none
        }
    }

    private func evaluate(_ expressions: [Expression]) throws -> [TemplateValue] {
        var values: [TemplateValue] = []
        values.reserveCapacity(expressions.count)
        for expression in expressions { values.append(try evaluate(expression)) }
        return values
    }

    private func evaluate(_ members: [(key: Expression, value: Expression)]) throws -> [Mapping.Member] {
        var values: [Mapping.Member] = []
        for (key, value) in members { values.append(Mapping.Member(key: try evaluate(key), value: try evaluate(value))) }
        return values
    }

    func values(of arguments: CallArguments) throws -> CallValues {
        var values = CallValues(positional: try evaluate(arguments.positional))
        for (name, value) in arguments.named { values.named.append((name, try evaluate(value))) }
        return values
    }

    private func evaluate(_ binary: Expression.Binary, _ left: Expression, _ right: Expression) throws -> TemplateValue {
        let a = try evaluate(left)
        // Short circuit gives back the operand, as Python does.
        if binary == .and { return a.isTrue ? try evaluate(right) : a }
        if binary == .or { return a.isTrue ? a : try evaluate(right) }
        return try apply(binary, a, evaluate(right))
    }

    // MARK: Slices

    private func bound(_ expression: Expression?) throws -> Int? {
        guard let expression else { return nil }
        let value = try evaluate(expression)
        if value.isNone { return nil }
        guard let integer = value.integer else { throw error("a slice bound is \(value.typeName), not a whole number") }
        return integer
    }

    private func slice(_ base: Expression, _ start: Expression?, _ stop: Expression?, _ step: Expression?) throws -> TemplateValue {
        let value = try evaluate(base)
        let (start, stop, step) = (try bound(start), try bound(stop), try bound(step) ?? 1)
        guard step != 0 else { throw error("a slice with step 0") }
        switch value {
        case .string(let text):
            let scalars = try scalars(text)
            return try string(Self.positions(scalars.count, start, stop, step).map { scalars[$0] })
        case .items(let items) where items.hasPositions:
            return try list(Self.positions(items.values.count, start, stop, step).map { items.values[$0] }, items.kind)
        default: throw error("\(value.typeName) cannot be sliced")
        }
    }

    /// The positions that `[start:stop:step]` picks, as Python's `slice.indices`.
    private static func positions(_ count: Int, _ start: Int?, _ stop: Int?, _ step: Int) -> StrideTo<Int> {
        let low = step > 0 ? 0 : -1
        let high = step > 0 ? count : count - 1
        func clamped(_ bound: Int) -> Int { min(max(bound < 0 ? max(bound, -count - 1) + count : bound, low), high) }
        // No step beyond the count makes a difference, and so large a one would overflow.
        return stride(
            from: start.map(clamped) ?? (step > 0 ? low : high), to: stop.map(clamped) ?? (step > 0 ? high : low),
            by: min(max(step, -count - 1), count + 1))
    }

    // MARK: Calls

    func call(_ callee: TemplateValue, _ arguments: CallValues) throws -> TemplateValue {
        if case .macro(let macro) = callee { return try call(macro, arguments) }
        return try callBuiltin(callee, arguments)
    }

    private func callBuiltin(_ callee: TemplateValue, _ arguments: CallValues) throws -> TemplateValue {
        switch callee {
        case .function(let function): return try function.builtin.call(self, .none, function.rawValue, arguments)
        case .method(let method): return try method.method.call(self, method.receiver, method.name, arguments)
        case .loop(let variable): return try recurse(variable, arguments)
        case .undefined(let name): throw error(name.isEmpty ? "an undefined value cannot be called" : "there is no function '\(name)'")
        default: throw error("\(callee.typeName) cannot be called")
        }
    }

    /// `loop(items)` runs the loop's body over other items.
    private func recurse(_ variable: LoopVariable, _ arguments: CallValues) throws -> TemplateValue {
        guard variable.loop.isRecursive else { throw error("the loop is not recursive, so 'loop' cannot be called") }
        guard arguments.positional.count == 1, arguments.named.isEmpty else { throw error("'loop' takes one argument") }
        try enter(levels: Self.levelsOfCall)
        defer { leave(levels: Self.levelsOfCall) }
        return .string(try capture { try run(variable.loop, over: arguments.positional[0], depth: variable.depth + 1) })
    }
}

extension TemplateValue {
    init(_ literal: Expression.Literal) {
        switch literal {
        case .none: self = .none
        case .bool(let value): self = .bool(value)
        case .int(let value): self = .int(value)
        case .float(let value): self = .float(value)
        case .string(let value): self = .string(value)
        }
    }
}
