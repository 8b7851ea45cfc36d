import Foundation

/// Python's operators.
extension Interpreter {
    func apply(_ unary: Expression.Unary, _ value: TemplateValue) throws -> TemplateValue {
        if unary == .not { return .bool(!value.isTrue) }
        if let integer = value.integer {
            if unary == .plus { return .int(integer) }
            let (result, overflow) = (0).subtractingReportingOverflow(integer)
            guard !overflow else { throw outOfRange() }
            return .int(result)
        }
        guard case .float(let number) = value else { throw error("\(value.typeName) takes no sign") }
        return .float(unary == .negate ? -number : number)
    }

    func apply(_ binary: Expression.Binary, _ a: TemplateValue, _ b: TemplateValue) throws -> TemplateValue {
        switch binary {
        case .equal: return .bool(try equal(a, b))
        case .notEqual: return .bool(try !equal(a, b))
        case .in: return .bool(try contains(b, a))
        case .notIn: return .bool(try !contains(b, a))
        case .less, .lessOrEqual, .greater, .greaterOrEqual: return .bool(try compare(binary, a, b))
        default: return try arithmetic(binary, a, b)
        }
    }

    private func compare(_ binary: Expression.Binary, _ a: TemplateValue, _ b: TemplateValue) throws -> Bool {
        // NaN is neither less nor greater than anything.
        if let x = a.number, let y = b.number, x.isNaN || y.isNaN { return false }
        let order = try order(a, b)
        switch binary {
        case .less: return order < 0
        case .lessOrEqual: return order <= 0
        case .greater: return order > 0
        default: return order >= 0
        }
    }

    func contains(_ container: TemplateValue, _ element: TemplateValue) throws -> Bool {
        switch container {
        case .string(let text):
            guard let part = element.plainText else { throw error("\(element.typeName) cannot be looked for in a string") }
            return try TextSearch(self).first(part, in: Array(text.utf8)) != nil
        case .items(let items): return try items.values.contains { try equal($0, element) }
        case .mapping(let mapping): return try member(mapping, element) != nil
        case .generator(let generator):
            while let next = generator.next() {
                if try equal(next, element) { return true }
            }
            return false
        case .undefined: return false
        default: throw error("\(container.typeName) holds nothing to look for")
        }
    }

    /// `~`: texts joined, escaped or not.
    func concatenated(_ values: [TemplateValue]) throws -> TemplateValue {
        var result = ""
        for value in values {
            let part = try text(value)
            guard result.utf8.count + part.utf8.count <= Self.maximumBytes else { throw tooLong() }
            result += part
        }
        return try string(result)
    }

    /// `+` of escaped text escapes the other.
    private func joined(_ a: TemplateValue, _ b: TemplateValue) throws -> TemplateValue {
        let result = try escaped(a, text(a)) + escaped(b, text(b))
        guard result.utf8.count <= Self.maximumBytes else { throw tooLong() }
        return .markup(result)
    }

    /// The text for HTML; text that is escaped already stays.
    func escaped(_ value: TemplateValue, _ text: String) throws -> String {
        if case .markup = value { return text }
        try charge(bytes: text.utf8.count)
        var result = ""
        for scalar in text.unicodeScalars {
            switch scalar {
            case "&": result += "&amp;"
            case "<": result += "&lt;"
            case ">": result += "&gt;"
            case "\"": result += "&#34;"
            case "'": result += "&#39;"
            default: result.unicodeScalars.append(scalar)
            }
        }
        guard result.utf8.count <= Self.maximumBytes else { throw tooLong() }
        return result
    }

    private func arithmetic(_ binary: Expression.Binary, _ a: TemplateValue, _ b: TemplateValue) throws -> TemplateValue {
        if let x = a.number, let y = b.number {
            if let p = a.integer, let q = b.integer, let exact = try integers(binary, p, q) { return .int(exact) }
            return .float(try floats(binary, x, y))
        }
        switch (binary, a, b) {
        case (.add, .string(let x), .string(let y)):
            guard x.utf8.count + y.utf8.count <= Self.maximumBytes else { throw tooLong() }
            return try string(x + y)
        case (.add, .markup, .string), (.add, .string, .markup), (.add, .markup, .markup): return try joined(a, b)
        case (.add, .items(let x), .items(let y)) where x.kind == y.kind && (x.kind == .list || x.kind == .tuple):
            try charge(x.values.count + y.values.count)
            return try list(x.values + y.values, x.kind)
        case (.multiply, .string(let text), _) where b.integer != nil: return try repeated(text, b.integer ?? 0)
        case (.multiply, _, .string(let text)) where a.integer != nil: return try repeated(text, a.integer ?? 0)
        case (.multiply, .items(let items), _) where b.integer != nil: return try repeated(items, b.integer ?? 0)
        case (.multiply, _, .items(let items)) where a.integer != nil: return try repeated(items, a.integer ?? 0)
        case (.modulo, .string(let format), .items(let items)) where items.kind == .tuple: return try printf(format, items.values)
        case (.modulo, .string(let format), _): return try printf(format, [b])
        default: throw error("\(a.typeName) \(binary.rawValue) \(b.typeName) has no meaning")
        }
    }

    private func outOfRange() -> TemplateError { error("a number out of range") }

    private func floats(_ binary: Expression.Binary, _ x: Double, _ y: Double) throws -> Double {
        switch binary {
        case .add: return x + y
        case .subtract: return x - y
        case .multiply: return x * y
        case .power:
            guard x != 0 || y >= 0 else { throw error("division by zero") }
            guard x >= 0 || y == y.rounded() else { throw error("a negative number to the power of a fraction") }
            let result = pow(x, y)
            guard result.isFinite || !x.isFinite || !y.isFinite else { throw outOfRange() }
            return result
        default:
            guard y != 0 else { throw error("division by zero") }
            if binary == .divide { return x / y }
            // The remainder has the divisor's sign, and the quotient fits it.
            var remainder = fmod(x, y)
            if remainder != 0, (remainder < 0) != (y < 0) { remainder += y }
            if remainder == 0 { remainder = y < 0 ? -0.0 : 0.0 }
            return binary == .modulo ? remainder : ((x - remainder) / y).rounded()
        }
    }

    /// Integer arithmetic; nil where the result is a float (`/`, negative powers).
    private func integers(_ binary: Expression.Binary, _ p: Int, _ q: Int) throws -> Int? {
        let result: (partialValue: Int, overflow: Bool)
        switch binary {
        case .add: result = p.addingReportingOverflow(q)
        case .subtract: result = p.subtractingReportingOverflow(q)
        case .multiply: result = p.multipliedReportingOverflow(by: q)
        case .floorDivide, .modulo:
            guard q != 0 else { throw error("division by zero") }
            guard p != .min || q != -1 else { throw outOfRange() }
            let remainder = p % q
            let adjusts = remainder != 0 && (remainder < 0) != (q < 0)
            return binary == .floorDivide ? p / q - (adjusts ? 1 : 0) : remainder + (adjusts ? q : 0)
        case .power where q >= 0: return try power(p, q)
        default: return nil
        }
        guard !result.overflow else { throw outOfRange() }
        return result.partialValue
    }

    private func power(_ base: Int, _ exponent: Int) throws -> Int {
        if base == 0 || base == 1 { return exponent == 0 ? 1 : base }
        if base == -1 { return exponent % 2 == 0 ? 1 : -1 }
        // The others leave the range within 64 steps.
        var result = 1
        for _ in 0..<exponent {
            let (next, overflow) = result.multipliedReportingOverflow(by: base)
            guard !overflow else { throw outOfRange() }
            result = next
        }
        return result
    }

    private func repeated(_ text: String, _ count: Int) throws -> TemplateValue {
        let (size, overflow) = text.utf8.count.multipliedReportingOverflow(by: max(count, 0))
        guard !overflow, size <= Self.maximumBytes else { throw tooLong() }
        return try string(size == 0 ? "" : String(repeating: text, count: count))
    }

    private func repeated(_ items: Items, _ count: Int) throws -> TemplateValue {
        guard items.kind == .list || items.kind == .tuple else { throw error("a \(items.kind.rawValue) cannot be repeated") }
        let (size, overflow) = items.values.count.multipliedReportingOverflow(by: max(count, 0))
        guard !overflow else { throw limit("a list of too many elements") }
        try charge(size)
        return try list(size == 0 ? [] : Array(repeatElement(items.values, count: count).joined()), items.kind)
    }
}
