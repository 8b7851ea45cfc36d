/// Attributes and items, with Jinja's rules: `a.b` asks for a method or attribute first and then for an item, `a["b"]` the other way
/// round.
extension Interpreter {
    func attribute(_ base: TemplateValue, _ name: String) throws -> TemplateValue {
        if case .undefined = base { throw error("\(base.typeName) has no '\(name)'") }
        if let value = try ownAttribute(base, name) { return value }
        if case .mapping(let mapping) = base { return try member(mapping, .string(name)) ?? .undefined(name) }
        return .undefined(name)
    }

    func item(_ base: TemplateValue, _ index: TemplateValue) throws -> TemplateValue {
        let found: TemplateValue?
        switch base {
        case .undefined: throw error("\(base.typeName) has no [\(index.representation ?? "...")]")
        case .mapping(let mapping): found = index.isHashable ? try member(mapping, index) : nil
        case .items(let items) where items.hasPositions: found = index.integer.flatMap { Self.place($0, items.values.count) }.map { items.values[$0] }
        case .string(let text):
            guard let position = index.integer else {
                found = nil
                break
            }
            let scalars = try scalars(text)
            found = Self.place(position, scalars.count).map { .string(String(scalars[$0])) }
        default: found = nil
        }
        if let found { return found }
        guard let name = index.plainText else { return .undefined(index.representation ?? "item") }
        return try ownAttribute(base, name) ?? .undefined(name)
    }

    /// A position from the end where it is negative.
    private static func place(_ position: Int, _ count: Int) -> Int? {
        let place = position < 0 ? position + count : position
        return place >= 0 && place < count ? place : nil
    }

    /// An attribute in Python's sense, which for most values is a method.
    private func ownAttribute(_ base: TemplateValue, _ name: String) throws -> TemplateValue? {
        switch base {
        case .namespace(let namespace): return namespace[name]
        case .loop(let variable):
            if let value = variable.attribute(name) { return value }
        case .macro(let macro) where name == "name": return .string(macro.macro.name)
        case .items(let items) where items.isGroup && (name == "grouper" || name == "list"): return items.values[name == "grouper" ? 0 : 1]
        case .markup: throw error("escaped text has no '\(name)' here; escape the result instead")
        default: break
        }
        if Methods.refused(base).contains(name) { return .undefined(name) }
        guard let method = try Methods.method(name, of: base, self) else { return nil }
        return .method(BoundMethod(base, name, method))
    }

    /// The value that `attribute="a.b.0"` of a filter names.
    ///
    /// - Parameter standard: What stands for a part that is undefined.
    func attributeGetter(_ attribute: TemplateValue, default standard: TemplateValue? = nil) throws -> (TemplateValue) throws -> TemplateValue {
        let parts: [TemplateValue]
        switch attribute {
        case .int: parts = [attribute]
        case .string(let path):
            parts = path.utf8.split(separator: UInt8(ascii: "."), omittingEmptySubsequences: false).map { part in
                let text = String(decoding: Array(part), as: UTF8.self)
                return !part.isEmpty && part.allSatisfy({ $0 >= 0x30 && $0 <= 0x39 }) ? Int(text).map { .int($0) } ?? .string(text) : .string(text)
            }
        default: throw error("an attribute is named by a string, not by \(attribute.typeName)")
        }
        return { [unowned self] value in
            try parts.reduce(value) { base, part in
                let result = try self.item(base, part)
                return result.isUndefined ? standard ?? result : result
            }
        }
    }
}
