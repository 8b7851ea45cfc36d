/// Filters that compare elements; text without regard to case, unless `case_sensitive` is given.
enum OrderFilters {
    static let all: [String: Builtin] = [
        "sort": Builtin("reverse? case_sensitive? attribute?") { value, a in
            let keys = try keys(a.value(2), isCaseSensitive: a.isTrue(1), a)
            let items = try a.interpreter.elements(of: value).map { (item: $0, key: try keys($0)) }
            return try a.interpreter.list(a.interpreter.sorted(items, by: \.key, reverse: a.isTrue(0)).map(\.item))
        },
        "unique": Builtin("case_sensitive? attribute?") { value, a in
            let key = try key(a.value(1), isCaseSensitive: a.isTrue(0), a)
            var seen: [TemplateValue] = []
            return try a.interpreter.generator(a.interpreter.elements(of: value).filter { item in
                let key = try key(item)
                guard key.isHashable else { throw a.error("\(key.typeName) cannot be a key") }
                if try seen.contains(where: { try a.interpreter.equal($0, key) }) { return false }
                seen.append(key)
                return true
            })
        },
        "min": Builtin("case_sensitive? attribute?") { value, a in try extreme(value, a, sign: -1) },
        "max": Builtin("case_sensitive? attribute?") { value, a in try extreme(value, a, sign: 1) },
        "groupby": Builtin("attribute default? case_sensitive?", groupBy),
    ]

    private static func extreme(_ value: TemplateValue, _ a: Arguments, sign: Int) throws -> TemplateValue {
        let key = try key(a.value(1), isCaseSensitive: a.isTrue(0), a)
        var best: (item: TemplateValue, key: TemplateValue)?
        for item in try a.interpreter.elements(of: value) {
            let key = try key(item)
            if let found = best, try a.interpreter.order(key, found.key) * sign <= 0 { continue }
            best = (item, key)
        }
        return best?.item ?? .undefined("No aggregated item, sequence was empty.")
    }

    private static func key(_ attribute: TemplateValue?, isCaseSensitive: Bool, _ a: Arguments) throws -> (TemplateValue) throws -> TemplateValue {
        let attribute = try attribute.map { try a.interpreter.attributeGetter($0) }
        return { value in
            let key = try attribute?(value) ?? value
            guard !isCaseSensitive, case .string(let text) = key else { return key }
            return try a.interpreter.string(LetterCase.lower(a.interpreter.scalars(text)))
        }
    }

    /// Of several attributes, `"a,b"`.
    private static func keys(_ attribute: TemplateValue?, isCaseSensitive: Bool, _ a: Arguments) throws -> (TemplateValue) throws -> TemplateValue {
        guard case .string(let names)? = attribute, names.utf8.contains(UInt8(ascii: ",")) else { return try key(attribute, isCaseSensitive: isCaseSensitive, a) }
        let keys = try names.utf8.split(separator: UInt8(ascii: ","), omittingEmptySubsequences: false).map {
            try key(.string(String(decoding: Array($0), as: UTF8.self)), isCaseSensitive: isCaseSensitive, a)
        }
        return { value in try a.interpreter.list(keys.map { try $0(value) }) }
    }

    /// Pairs of a key and the elements that have it, by the order of the keys.
    private static let groupBy: Builtin.Body = { value, a in
        let grouper = try a.interpreter.attributeGetter(a[0] ?? .none, default: a.value(1))
        let isCaseSensitive = a.isTrue(2)
        func folded(_ key: TemplateValue) throws -> TemplateValue {
            guard !isCaseSensitive, case .string(let text) = key else { return key }
            return try a.interpreter.string(LetterCase.lower(a.interpreter.scalars(text)))
        }
        let items = try a.interpreter.elements(of: value).map { (item: $0, key: try folded(grouper($0))) }
        var groups: [(key: TemplateValue, items: [TemplateValue])] = []
        for (item, key) in try a.interpreter.sorted(items, by: \.key) {
            if let last = groups.last, try a.interpreter.equal(last.key, key) {
                groups[groups.count - 1].items.append(item)
            } else {
                groups.append((key, [item]))
            }
        }
        return try a.interpreter.list(groups.map { group in
            // The key as the first element of the group writes it.
            let values = [try group.items.first.map(grouper) ?? group.key, try a.interpreter.list(group.items)]
            return .items(Items(.tuple, values, try a.interpreter.extent(of: values), isGroup: true))
        })
    }
}

extension Interpreter {
    /// Equal elements keep their order, also in reverse.
    func sorted<Element>(_ elements: [Element], by key: (Element) -> TemplateValue, reverse: Bool = false) throws -> [Element] {
        let order = try elements.indices.sorted { a, b in
            let result = try self.order(key(elements[a]), key(elements[b]))
            try charge()
            return result == 0 ? a < b : (result < 0) != reverse
        }
        return order.map { elements[$0] }
    }
}
