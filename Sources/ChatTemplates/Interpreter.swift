/// The state of one rendering, and its bounds.
///
/// Everything is bounded: steps (so that no loop runs for ever), depth of evaluation, the size of the output and of any value.
/// Making and reading text costs steps too, so that the memory a template can ask for is bounded by the number of steps.
final class Interpreter {
    private let maximumSteps: Int
    /// Statements and expressions within each other, over all macros; each takes some stack.
    static let maximumDepth = 160
    static let maximumBytes = 16 << 20
    /// Bytes of text that cost one step.
    private static let bytesPerStep = 16

    /// Innermost last, the template's top level first. A loop or macro opens a scope; `set` inside does not reach out, as in Jinja.
    var scopes: [Scope]
    var output = ""
    var line = 1
    let now: TemplateClock
    /// The text of a block, for the filters of its tag.
    var captured = ""
    private var steps = 0
    private var depth = 0
    private var namespaces: [Namespace] = []

    init(variables: Scope, now: TemplateClock, maximumSteps: Int) {
        scopes = [variables]
        self.maximumSteps = maximumSteps
        self.now = now
    }

    /// Renders the statements; use it once.
    func render(_ statements: [Statement]) throws -> String {
        defer {
            for namespace in namespaces { namespace.clear() }
        }
        _ = try run(statements)
        return output
    }

    // MARK: Bounds

    func error(_ reason: String) -> TemplateError { TemplateError(.evaluation, line: line, reason) }
    func limit(_ reason: String) -> TemplateError { TemplateError(.limit, line: line, reason) }

    func charge(_ count: Int = 1) throws {
        steps = steps.addingReportingOverflow(count).overflow ? .max : steps + count
        guard steps <= maximumSteps else { throw limit("more than \(maximumSteps) steps: does a loop not end?") }
    }

    func charge(bytes: Int) throws { try charge(bytes / Self.bytesPerStep) }

    /// Opens a level of evaluation; `leave` closes it.
    ///
    /// - Parameter levels: More than one for what takes more stack than an expression.
    func enter(levels: Int = 1) throws {
        guard depth + levels <= Self.maximumDepth else {
            throw limit("statements, expressions and macros within each other for more than \(Self.maximumDepth) levels")
        }
        depth += levels
        do { try charge() } catch {
            depth -= levels
            throw error
        }
    }

    func leave(levels: Int = 1) { depth -= levels }

    /// What a call of a macro or of one filter by another counts.
    static let levelsOfCall = 4

    func write(_ text: String) throws {
        guard output.utf8.count + text.utf8.count <= Self.maximumBytes else { throw tooLong() }
        try charge(bytes: text.utf8.count)
        output += text
    }

    func tooLong() -> TemplateError { limit("a text of more than \(Self.maximumBytes >> 20) MiB") }

    /// The output of a body, instead of writing it.
    func capture(_ body: () throws -> Void) throws -> String {
        let outer = output
        output = ""
        defer { output = outer }
        try body()
        return output
    }

    // MARK: Names

    func lookup(_ name: String) -> TemplateValue {
        for scope in scopes.reversed() {
            if let value = scope[name] { return value }
        }
        if let function = GlobalFunction(rawValue: name) { return .function(function) }
        return .undefined(name)
    }

    func declare(_ name: String, _ value: TemplateValue) { scopes[scopes.count - 1].set(name, value) }

    func scoped<Result>(_ body: () throws -> Result) throws -> Result {
        try enter()
        scopes.append(Scope())
        defer {
            scopes.removeLast()
            leave()
        }
        return try body()
    }

    func assign(_ target: Statement.Target, _ value: TemplateValue) throws {
        switch target {
        case .name(let name): declare(name, value)
        case .attribute(let object, let name):
            guard case .namespace(let namespace) = lookup(object) else { throw error("'\(object)' is no namespace, so its '\(name)' cannot be set") }
            namespace.set(name, value)
        case .tuple(let targets):
            let values = try elements(of: value)
            guard values.count == targets.count else { throw error("\(values.count) values do not unpack into \(targets.count) names") }
            for (target, value) in zip(targets, values) { try assign(target, value) }
        }
    }

    // MARK: New values

    func string(_ text: String) throws -> TemplateValue {
        guard text.utf8.count <= Self.maximumBytes else { throw tooLong() }
        try charge(bytes: text.utf8.count)
        return .string(text)
    }

    func string(_ scalars: some Sequence<Unicode.Scalar>) throws -> TemplateValue {
        var view = String.UnicodeScalarView()
        view.append(contentsOf: scalars)
        return try string(String(view))
    }

    func list(_ values: [TemplateValue], _ kind: Items.Kind = .list) throws -> TemplateValue { .items(Items(kind, values, try extent(of: values))) }
    func tuple(_ values: TemplateValue...) throws -> TemplateValue { try list(values, .tuple) }
    func generator(_ values: [TemplateValue]) throws -> TemplateValue { .generator(Generator(values, try extent(of: values))) }

    /// Later members replace earlier ones with the same key, in their place.
    func mapping(_ members: [Mapping.Member]) throws -> TemplateValue {
        var result: [Mapping.Member] = []
        for member in members {
            guard member.key.isHashable else { throw error("\(member.key.typeName) cannot be a key") }
            try charge(1 + result.count / 16)
            if let index = result.firstIndex(where: { TemplateValue.equal($0.key, member.key) }) {
                result[index] = Mapping.Member(key: result[index].key, value: member.value)
            } else {
                result.append(member)
            }
        }
        return .mapping(Mapping(result, try extent(of: result.map(\.key) + result.map(\.value))))
    }

    func namespace(_ members: [(name: String, value: TemplateValue)]) -> TemplateValue {
        let namespace = Namespace()
        for (name, value) in members { namespace.set(name, value) }
        namespaces.append(namespace)
        return .namespace(namespace)
    }

    func extent(of values: some Collection<TemplateValue>) throws -> Extent {
        try charge(values.count)
        var extent = Extent()
        for value in values { extent.include(value.extent) }
        guard extent.isAllowed else { throw limit("a list or mapping of more than \(Extent.maximumDepth) levels or \(Extent.maximumSize) elements") }
        return extent
    }

    // MARK: Reading values

    /// Python's `str()`.
    func text(_ value: TemplateValue) throws -> String {
        try charge(value.extent.size)
        guard let text = value.text else { throw error("\(value.typeName) has no text") }
        return text
    }

    /// The text in scalars, which Python counts in.
    func scalars(_ text: String) throws -> [Unicode.Scalar] {
        try charge(bytes: text.utf8.count)
        return Array(text.unicodeScalars)
    }

    /// What a loop goes over.
    func elements(of value: TemplateValue) throws -> [TemplateValue] {
        let result: [TemplateValue]
        switch value {
        case .undefined: return []
        case .string(let text), .markup(let text):
            try charge(text.utf8.count)
            return text.unicodeScalars.map { .string(String($0)) }
        case .items(let items): result = items.values
        case .mapping(let mapping): result = mapping.members.map(\.key)
        case .generator(let generator): result = generator.all()
        default: throw error("\(value.typeName) cannot be looped over")
        }
        try charge(result.count)
        return result
    }

    func equal(_ a: TemplateValue, _ b: TemplateValue) throws -> Bool {
        try charge(min(a.extent.size, b.extent.size))
        return TemplateValue.equal(a, b)
    }

    func order(_ a: TemplateValue, _ b: TemplateValue) throws -> Int {
        try charge(min(a.extent.size, b.extent.size))
        guard let order = TemplateValue.order(a, b) else { throw error("\(a.typeName) and \(b.typeName) have no order") }
        return order
    }

    func member(_ mapping: Mapping, _ key: TemplateValue) throws -> TemplateValue? {
        guard key.isHashable else { throw error("\(key.typeName) cannot be a key") }
        try charge(mapping.members.count / 16 * key.extent.size)
        if case .string(let name) = key { return mapping[name] }
        return mapping[key]
    }
}

/// The variables of one level.
struct Scope {
    private var entries: [(name: String, value: TemplateValue)] = []

    var values: some Collection<TemplateValue> { entries.lazy.map(\.value) }

    subscript(_ name: String) -> TemplateValue? { entries.first { same($0.name, name) }?.value }

    mutating func set(_ name: String, _ value: TemplateValue) {
        if let index = entries.firstIndex(where: { same($0.name, name) }) {
            entries[index].value = value
        } else {
            entries.append((name: name, value: value))
        }
    }

    mutating func clear() { entries.removeAll(keepingCapacity: true) }
}
