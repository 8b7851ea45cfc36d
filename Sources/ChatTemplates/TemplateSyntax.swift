/// An expression of a template.
struct Expression: Sendable {
    let kind: Kind
    /// Levels of expressions below, which is how deep evaluating it recurses.
    let depth: Int
    let line: Int

    indirect enum Kind: Sendable {
        case literal(Literal)
        case name(String)
        case list([Expression])
        case tuple([Expression])
        case mapping([(key: Expression, value: Expression)])
        /// `a.b`
        case attribute(Expression, String)
        /// `a[b]`
        case item(Expression, Expression)
        /// `a[start:stop:step]`
        case slice(Expression, start: Expression?, stop: Expression?, step: Expression?)
        case call(Expression, CallArguments)
        /// `a | filter(...)`; without `a` in front of a block.
        case filter(Expression, String, CallArguments)
        /// `a is test(...)`
        case test(Expression, String, CallArguments, negated: Bool)
        case unary(Unary, Expression)
        case binary(Binary, Expression, Expression)
        /// `a ~ b ~ c`
        case concatenation([Expression])
        /// `a if c else b`
        case conditional(condition: Expression, then: Expression, otherwise: Expression?)
        /// The text of a block, for the filters behind its tag.
        case captured
    }

    enum Literal: Sendable {
        case none
        case bool(Bool)
        case int(Int)
        case float(Double)
        case string(String)
    }

    enum Unary: Sendable { case negate, plus, not }

    enum Binary: String, Sendable, CaseIterable {
        case or, and
        case equal = "==", notEqual = "!=", lessOrEqual = "<=", greaterOrEqual = ">=", less = "<", greater = ">"
        case `in`, notIn = "not in"
        case add = "+", subtract = "-"
        case concatenate = "~"
        case multiply = "*", floorDivide = "//", divide = "/", modulo = "%"
        case power = "**"

        /// How strongly the operator binds; `not` stands between `and` and the comparisons.
        var precedence: Int {
            switch self {
            case .or: return 1
            case .and: return 2
            case .equal, .notEqual, .lessOrEqual, .greaterOrEqual, .less, .greater, .in, .notIn: return Self.comparison
            case .add, .subtract: return 5
            case .concatenate: return 6
            case .multiply, .floorDivide, .divide, .modulo: return 7
            case .power: return 8
            }
        }

        static let negation = 3
        static let comparison = 4
    }
}

struct CallArguments: Sendable {
    var positional: [Expression] = []
    var named: [(name: String, value: Expression)] = []
}

/// A statement, with the line it stands on.
struct Statement: Sendable {
    let kind: Kind
    let line: Int

    indirect enum Kind: Sendable {
        case text(String)
        case output(Expression)
        case conditional([(condition: Expression?, body: [Statement])])
        case loop(Loop)
        case set(Target, Expression)
        /// `{% set x | filter %}...{% endset %}`: the text of the body through the filters.
        case capture(Target, [Statement], Expression)
        case macro(Macro)
        /// `{% filter name %}...{% endfilter %}`
        case filterBlock([Statement], Expression)
        /// `{% call(x) macro() %}...{% endcall %}`
        case callBlock(Expression, CallArguments, caller: Macro)
        /// `{% with a = b %}`; also `{% generation %}`, which marks what an assistant wrote and sets nothing.
        case scope([(target: Target, value: Expression)], [Statement])
        case breakLoop, continueLoop
    }

    /// What `set` and `for` assign to.
    indirect enum Target: Sendable {
        case name(String)
        /// `namespace.attribute`
        case attribute(String, String)
        case tuple([Target])

        /// The variables that the target sets.
        var names: [String] {
            switch self {
            case .name(let name): return [name]
            case .attribute: return []
            case .tuple(let targets): return targets.flatMap(\.names)
            }
        }
    }
}

/// `{% for target in over if filter %} body {% else %} otherwise {% endfor %}`
final class Loop: Sendable {
    let target: Statement.Target
    let over: Expression
    let filter: Expression?
    let isRecursive: Bool
    let body: [Statement]
    let otherwise: [Statement]

    init(target: Statement.Target, over: Expression, filter: Expression?, isRecursive: Bool, body: [Statement], otherwise: [Statement]) {
        self.target = target
        self.over = over
        self.filter = filter
        self.isRecursive = isRecursive
        self.body = body
        self.otherwise = otherwise
    }
}

/// `{% macro name(parameters) %}`
final class Macro: Sendable {
    let name: String
    let parameters: [(name: String, standard: Expression?)]
    let body: [Statement]
    /// Whether the body reads `varargs`, `kwargs` and `caller`, without which Jinja refuses such arguments.
    let takesRest: Bool
    let takesNamedRest: Bool
    let takesCaller: Bool

    init(name: String, parameters: [(name: String, standard: Expression?)], body: [Statement], names: Set<SpecialName>) {
        self.name = name
        self.parameters = parameters
        self.body = body
        takesRest = names.contains(.varargs)
        takesNamedRest = names.contains(.kwargs)
        takesCaller = names.contains(.caller)
    }

    /// Names that are defined inside a macro only.
    enum SpecialName: String, Sendable { case varargs, kwargs, caller }
}
