/// Reads expressions, by the precedence of their operators.
extension TemplateParser {
    /// Evaluating recurses as deep as an expression is, and `a + b + c` is as deep as it is long.
    static let maximumExpressionDepth = 96

    /// An expression of a kind, whose depth is checked.
    func expression(_ kind: Expression.Kind) throws -> Expression {
        let depth = 1 + (kind.children.map(\.depth).max() ?? 0)
        guard depth <= Self.maximumExpressionDepth else {
            throw TemplateError(.limit, line: line, "an expression of more than \(Self.maximumExpressionDepth) levels")
        }
        return Expression(kind: kind, depth: depth, line: line)
    }

    /// `a` or `a, b`
    mutating func tuple(allowsConditional: Bool = true) throws -> Expression {
        let first = try element(allowsConditional)
        guard current == .symbol(",") else { return first }
        var items = [first]
        while takeSymbol(",") {
            switch current {
            case .statementEnd, .expressionEnd, .symbol(")"), nil: return try expression(.tuple(items))
            default: items.append(try element(allowsConditional))
            }
        }
        return try expression(.tuple(items))
    }

    private mutating func element(_ allowsConditional: Bool) throws -> Expression {
        try allowsConditional ? expression() : operation(Expression.Binary.or.precedence)
    }

    /// Including `a if c else b`.
    mutating func expression() throws -> Expression {
        try nested { parser in
            var value = try parser.operation(Expression.Binary.or.precedence)
            while parser.takeName("if") {
                let condition = try parser.operation(Expression.Binary.or.precedence)
                let otherwise = parser.takeName("else") ? try parser.expression() : nil
                value = try parser.expression(.conditional(condition: condition, then: value, otherwise: otherwise))
            }
            return value
        }
    }

    /// Operators that bind at least as strongly as `minimum`, from left to right.
    private mutating func operation(_ minimum: Int) throws -> Expression {
        var left: Expression
        if minimum <= Expression.Binary.negation, takeName("not") {
            let operand = try nested { try $0.operation(Expression.Binary.negation) }
            left = try expression(.unary(.not, operand))
        } else {
            left = try unary(takesFilters: true)
        }
        while let (binary, length) = operatorAhead(), binary.precedence >= minimum {
            switch binary {
            case .concatenate:
                var parts = [left]
                while takeSymbol("~") { parts.append(try operation(binary.precedence + 1)) }
                left = try expression(.concatenation(parts))
            case _ where binary.precedence == Expression.Binary.comparison: left = try comparisons(left)
            default:
                position += length
                left = try expression(.binary(binary, left, operation(binary.precedence + 1)))
            }
        }
        return left
    }

    /// Chains (`a < b < c`) compare neighbours.
    private mutating func comparisons(_ first: Expression) throws -> Expression {
        var left = first
        var result: Expression?
        while let (binary, length) = operatorAhead(), binary.precedence == Expression.Binary.comparison {
            position += length
            let right = try operation(Expression.Binary.comparison + 1)
            let pair = try expression(.binary(binary, left, right))
            result = try result.map { try expression(.binary(.and, $0, pair)) } ?? pair
            left = right
        }
        return result ?? first
    }

    /// The operator that stands here, and how many tokens it takes.
    private func operatorAhead() -> (Expression.Binary, Int)? {
        switch current {
        case .symbol(let symbol)?: return Expression.Binary(rawValue: symbol).map { ($0, 1) }
        case .name("or"): return (.or, 1)
        case .name("and"): return (.and, 1)
        case .name("in"): return (.in, 1)
        case .name("not") where next == .name("in"): return (.notIn, 2)
        default: return nil
        }
    }

    /// A sign binds more strongly than a filter: `-1 | abs` is 1.
    private mutating func unary(takesFilters: Bool) throws -> Expression {
        var value: Expression
        if current == .symbol("-") || current == .symbol("+") {
            let sign = current == .symbol("-") ? Expression.Unary.negate : .plus
            position += 1
            let operand = try nested { try $0.unary(takesFilters: false) }
            value = try expression(.unary(sign, operand))
        } else {
            value = try primary()
        }
        value = try postfix(of: value)
        return takesFilters ? try filtersAndTests(of: value) : value
    }

    private mutating func filtersAndTests(of base: Expression) throws -> Expression {
        var value = base
        while true {
            if takeSymbol("|") {
                value = try filter(of: value)
            } else if takeName("is") {
                value = try test(of: value)
            } else if current == .symbol("(") {
                value = try call(of: value)
            } else {
                return value
            }
        }
    }

    private mutating func filter(of value: Expression) throws -> Expression {
        let name = try dottedName()
        return try expression(.filter(value, name, current == .symbol("(") ? callArguments() : CallArguments()))
    }

    /// The filters of a `filter` (whose first has no `|`) or `set` block.
    mutating func filters(named: Bool, of base: Expression) throws -> Expression {
        var value = named ? try filter(of: base) : base
        while takeSymbol("|") { value = try filter(of: value) }
        return value
    }

    private mutating func dottedName() throws -> String {
        var name = try expectName()
        while takeSymbol(".") { name += "." + (try expectName()) }
        return name
    }

    /// `is divisibleby(3)` or `is divisibleby 3`.
    private mutating func test(of value: Expression) throws -> Expression {
        let negated = takeName("not")
        let name = try dottedName()
        var arguments = CallArguments()
        switch current {
        case .symbol("("): arguments = try callArguments()
        case .name("else"), .name("or"), .name("and"): break
        case .name("is"): throw error("tests cannot be chained with 'is'")
        case .string, .int, .float, .name, .symbol("["), .symbol("{"): arguments.positional = [try postfix(of: primary())]
        default: break
        }
        return try expression(.test(value, name, arguments, negated: negated))
    }

    private mutating func postfix(of base: Expression) throws -> Expression {
        var value = base
        while true {
            if takeSymbol(".") {
                value = try member(of: value)
            } else if takeSymbol("[") {
                value = try subscripted(value)
            } else if current == .symbol("(") {
                value = try call(of: value)
            } else {
                return value
            }
        }
    }

    private mutating func member(of value: Expression) throws -> Expression {
        guard case .int(let index)? = current else { return try expression(.attribute(value, expectName())) }
        position += 1
        return try expression(.item(value, expression(.literal(.int(index)))))
    }

    private mutating func call(of value: Expression) throws -> Expression { try expression(.call(value, callArguments())) }

    private mutating func subscripted(_ base: Expression) throws -> Expression {
        var parts: [Expression?] = [nil]
        var items: [Expression] = []
        while !takeSymbol("]") {
            if current == .symbol(","), parts.count == 1, let index = parts[0] {
                position += 1
                items.append(index)
                parts = [nil]
                continue
            }
            if takeSymbol(":") {
                guard parts.count < 3 else { throw error("a slice has at most three parts") }
                parts.append(nil)
            } else {
                guard parts[parts.count - 1] == nil else { throw error("expected ']' or ':'") }
                parts[parts.count - 1] = try expression()
            }
        }
        if parts.count > 1, items.isEmpty { return try expression(.slice(base, start: parts[0], stop: parts[1], step: parts.count > 2 ? parts[2] : nil)) }
        guard parts.count == 1 else { throw error("a slice beside other indices is not supported") }
        // Several indices are one index, a tuple.
        if let index = parts[0], items.isEmpty { return try expression(.item(base, index)) }
        return try expression(.item(base, expression(.tuple(items + parts.compactMap { $0 }))))
    }

    mutating func callArguments() throws -> CallArguments {
        try expectSymbol("(")
        var arguments = CallArguments()
        var count = 0
        while !takeSymbol(")") {
            if count > 0 {
                try expectSymbol(",")
                if takeSymbol(")") { break }
            }
            count += 1
            if let name = try argumentName() {
                guard !arguments.named.contains(where: { same($0.name, name) }) else { throw error("the argument '\(name)' stands twice") }
                arguments.named.append((name, try expression()))
            } else {
                guard arguments.named.isEmpty else { throw error("an argument without a name behind one with a name") }
                arguments.positional.append(try expression())
            }
        }
        return arguments
    }

    private mutating func argumentName() throws -> String? {
        if current == .symbol("*") || current == .symbol("**") { throw error("'*' before an argument is not supported") }
        guard case .name(let name)? = current, next == .symbol("=") else { return nil }
        position += 2
        return name
    }

    private mutating func primary() throws -> Expression {
        if takeSymbol("(") { return try parenthesized() }
        if takeSymbol("[") { return try list() }
        if takeSymbol("{") { return try mapping() }
        return try expression(leaf())
    }

    private mutating func parenthesized() throws -> Expression {
        if takeSymbol(")") { return try expression(.tuple([])) }
        let value = try tuple()
        try expectSymbol(")")
        return value
    }

    private mutating func leaf() throws -> Expression.Kind {
        guard let token = current else { throw error("the template ends inside an expression") }
        switch token {
        case .string(var text):
            position += 1
            // Neighbouring strings join, as in Python.
            while case .string(let next)? = current {
                text += next
                position += 1
            }
            return .literal(.string(text))
        case .int(let value):
            position += 1
            return .literal(.int(value))
        case .float(let value):
            position += 1
            return .literal(.float(value))
        case .name(let name):
            position += 1
            return named(name)
        default: throw error("no expression starts here")
        }
    }

    private mutating func named(_ name: String) -> Expression.Kind {
        switch name {
        case "true", "True": return .literal(.bool(true))
        case "false", "False": return .literal(.bool(false))
        case "none", "None": return .literal(.none)
        default:
            if !specialNames.isEmpty, let special = Macro.SpecialName(rawValue: name) { specialNames[specialNames.count - 1].insert(special) }
            return .name(name)
        }
    }

    private mutating func list() throws -> Expression {
        var items: [Expression] = []
        while !takeSymbol("]") {
            if !items.isEmpty {
                try expectSymbol(",")
                if takeSymbol("]") { break }
            }
            items.append(try expression())
        }
        return try expression(.list(items))
    }

    private mutating func mapping() throws -> Expression {
        var members: [(key: Expression, value: Expression)] = []
        while !takeSymbol("}") {
            if !members.isEmpty {
                try expectSymbol(",")
                if takeSymbol("}") { break }
            }
            let key = try expression()
            try expectSymbol(":")
            members.append((key, try expression()))
        }
        return try expression(.mapping(members))
    }
}

extension Expression.Kind {
    var children: [Expression] {
        switch self {
        case .literal, .name, .captured: return []
        case .list(let items), .tuple(let items), .concatenation(let items): return items
        case .mapping(let members): return members.flatMap { [$0.key, $0.value] }
        case .attribute(let base, _), .unary(_, let base): return [base]
        case .item(let a, let b), .binary(_, let a, let b): return [a, b]
        case .slice(let base, let start, let stop, let step): return [base] + [start, stop, step].compactMap { $0 }
        case .call(let base, let arguments), .filter(let base, _, let arguments), .test(let base, _, let arguments, _):
            return [base] + arguments.positional + arguments.named.map(\.value)
        case .conditional(let condition, let then, let otherwise): return [condition, then] + (otherwise.map { [$0] } ?? [])
        }
    }
}
