/// Reads lexemes into statements; Jinja's grammar without inheritance and includes. Expressions are read in `ExpressionParser`.
struct TemplateParser {
    let lexemes: [TemplateLexer.Lexeme]
    var position = 0
    private var depth = 0
    /// Loops around the statement that is read; nil stands for a block that `break` cannot leave.
    private var loops = 0
    /// The names that each macro around uses of those that only a macro has.
    var specialNames: [Set<Macro.SpecialName>] = []

    /// Deeper nesting would only overflow the stack.
    static let maximumDepth = 40

    static func parse(_ source: String) throws -> [Statement] {
        var parser = TemplateParser(lexemes: try TemplateLexer.lex(source))
        return try parser.statements(until: []).body
    }

    private init(lexemes: [TemplateLexer.Lexeme]) { self.lexemes = lexemes }

    // MARK: Tokens

    var current: TemplateLexer.Token? { position < lexemes.count ? lexemes[position].token : nil }
    var next: TemplateLexer.Token? { position + 1 < lexemes.count ? lexemes[position + 1].token : nil }
    var line: Int { lexemes.isEmpty ? 1 : lexemes[min(position, lexemes.count - 1)].line }

    func error(_ reason: String) -> TemplateError { TemplateError(.syntax, line: line, reason) }

    mutating func nested<Result>(_ body: (inout TemplateParser) throws -> Result) throws -> Result {
        guard depth < Self.maximumDepth else { throw TemplateError(.limit, line: line, "nested deeper than \(Self.maximumDepth) levels") }
        depth += 1
        defer { depth -= 1 }
        return try body(&self)
    }

    mutating func take(_ token: TemplateLexer.Token) -> Bool {
        guard current == token else { return false }
        position += 1
        return true
    }

    mutating func takeSymbol(_ symbol: String) -> Bool { take(.symbol(symbol)) }
    mutating func takeName(_ name: String) -> Bool { take(.name(name)) }

    mutating func expectSymbol(_ symbol: String) throws {
        guard takeSymbol(symbol) else { throw error("expected '\(symbol)'") }
    }

    mutating func expectName() throws -> String {
        guard case .name(let name)? = current else { throw error("expected a name") }
        position += 1
        return name
    }

    private mutating func endStatement() throws {
        guard take(.statementEnd) else { throw error("expected '%}'") }
    }

    // MARK: Statements

    /// Statements up to a tag whose name is in `ends`; that name is consumed, the rest of the tag is not.
    private mutating func statements(until ends: [String]) throws -> (body: [Statement], end: String) {
        try nested { parser in
            var body: [Statement] = []
            while let token = parser.current {
                let line = parser.line
                parser.position += 1
                switch token {
                case .text(let text): body.append(Statement(kind: .text(text), line: line))
                case .expressionBegin:
                    let value = try parser.tuple()
                    guard parser.take(.expressionEnd) else { throw parser.error("expected '}}'") }
                    body.append(Statement(kind: .output(value), line: line))
                case .statementBegin:
                    let name = try parser.expectName()
                    if ends.contains(name) { return (body, name) }
                    body.append(Statement(kind: try parser.statement(name), line: line))
                default: throw parser.error("unexpected text in a tag")
                }
            }
            guard ends.isEmpty else { throw parser.error("the template ends before '\(ends.last ?? "")'") }
            return (body, "")
        }
    }

    private mutating func body(until end: String) throws -> [Statement] {
        let (body, _) = try statements(until: [end])
        try endStatement()
        return body
    }

    /// A body whose text goes elsewhere, so that no `break` may leave it.
    private mutating func closedBody(until end: String) throws -> [Statement] {
        let outer = loops
        loops = 0
        defer { loops = outer }
        return try body(until: end)
    }

    private mutating func statement(_ name: String) throws -> Statement.Kind {
        switch name {
        case "if": return try conditional()
        case "for": return try loop()
        case "set": return try set()
        case "macro": return try macro()
        case "call": return try callBlock()
        case "with": return try with()
        case "filter":
            let filters = try self.filters(named: true, of: expression(.captured))
            try endStatement()
            return .filterBlock(try closedBody(until: "endfilter"), filters)
        case "generation":
            try endStatement()
            return .scope([], try closedBody(until: "endgeneration"))
        case "break", "continue":
            guard loops > 0 else { throw error("'\(name)' stands outside of a loop") }
            try endStatement()
            return name == "break" ? .breakLoop : .continueLoop
        case "include", "import", "from", "extends", "block", "autoescape": throw error("'\(name)' is not supported in a chat template")
        default: throw error("unknown tag '\(name)'")
        }
    }

    private mutating func conditional() throws -> Statement.Kind {
        var branches: [(condition: Expression?, body: [Statement])] = []
        var condition: Expression? = try tuple(allowsConditional: false)
        while true {
            try endStatement()
            let (body, end) = try statements(until: condition == nil ? ["endif"] : ["elif", "else", "endif"])
            branches.append((condition, body))
            switch end {
            case "elif": condition = try tuple(allowsConditional: false)
            case "else": condition = nil
            default:
                try endStatement()
                return .conditional(branches)
            }
        }
    }

    private mutating func loop() throws -> Statement.Kind {
        let target = try self.target()
        guard !target.names.contains("loop") else { throw error("'loop' is the loop's own variable") }
        guard takeName("in") else { throw error("expected 'in'") }
        // The 'if' behind belongs to the loop, so no conditional expression here.
        let over = try tuple(allowsConditional: false)
        let filter = takeName("if") ? try expression() : nil
        let isRecursive = takeName("recursive")
        try endStatement()
        loops += 1
        let (body, end) = try statements(until: ["else", "endfor"])
        loops -= 1
        try endStatement()
        let otherwise = end == "else" ? try self.body(until: "endfor") : []
        return .loop(Loop(target: target, over: over, filter: filter, isRecursive: isRecursive, body: body, otherwise: otherwise))
    }

    private mutating func target() throws -> Statement.Target {
        var targets = [try singleTarget()]
        var isTuple = false
        while takeSymbol(",") {
            isTuple = true
            if current == .name("in") || current == .symbol("=") { break }
            targets.append(try singleTarget())
        }
        return isTuple ? .tuple(targets) : targets[0]
    }

    private mutating func singleTarget() throws -> Statement.Target {
        if takeSymbol("(") {
            return try nested { parser in
                let target = try parser.target()
                try parser.expectSymbol(")")
                return target
            }
        }
        let name = try expectName()
        if takeSymbol(".") { return .attribute(name, try expectName()) }
        guard !["true", "false", "none", "True", "False", "None"].contains(name) else { throw error("'\(name)' cannot be assigned to") }
        return .name(name)
    }

    private mutating func set() throws -> Statement.Kind {
        let target = try self.target()
        if takeSymbol("=") {
            let value = try tuple()
            try endStatement()
            return .set(target, value)
        }
        let filters = try self.filters(named: false, of: expression(.captured))
        try endStatement()
        return .capture(target, try closedBody(until: "endset"), filters)
    }

    private mutating func with() throws -> Statement.Kind {
        var values: [(target: Statement.Target, value: Expression)] = []
        while current != .statementEnd {
            if !values.isEmpty { try expectSymbol(",") }
            let target = try singleTarget()
            try expectSymbol("=")
            values.append((target, try expression()))
        }
        try endStatement()
        return .scope(values, try body(until: "endwith"))
    }

    // MARK: Macros

    private mutating func parameters() throws -> [(name: String, standard: Expression?)] {
        var parameters: [(name: String, standard: Expression?)] = []
        try expectSymbol("(")
        while !takeSymbol(")") {
            if !parameters.isEmpty { try expectSymbol(",") }
            let name = try expectName()
            guard !parameters.contains(where: { same($0.name, name) }) else { throw error("the parameter '\(name)' stands twice") }
            let standard = takeSymbol("=") ? try expression() : nil
            guard standard != nil || parameters.last?.standard == nil else { throw error("'\(name)' needs a default, as the parameter before it has one") }
            parameters.append((name, standard))
        }
        return parameters
    }

    private mutating func macro(name: String, parameters: [(name: String, standard: Expression?)], until end: String) throws -> Macro {
        try endStatement()
        specialNames.append([])
        let body = try closedBody(until: end)
        return Macro(name: name, parameters: parameters, body: body, names: specialNames.removeLast())
    }

    private mutating func macro() throws -> Statement.Kind {
        let name = try expectName()
        return .macro(try macro(name: name, parameters: parameters(), until: "endmacro"))
    }

    private mutating func callBlock() throws -> Statement.Kind {
        let parameters = current == .symbol("(") ? try self.parameters() : []
        guard case .call(let callee, let arguments) = try expression().kind else { throw error("'call' needs a call behind it") }
        return .callBlock(callee, arguments, caller: try macro(name: "caller", parameters: parameters, until: "endcall"))
    }
}
