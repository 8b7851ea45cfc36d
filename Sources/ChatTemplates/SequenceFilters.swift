/// Filters that read a sequence or cut it.
enum SequenceFilters {
    static let all: [String: Builtin] = [
        "length": Builtin("", length), "count": Builtin("", length),
        "first": Builtin { value, a in
            if case .generator(let generator) = value { return generator.next() ?? .undefined("first") }
            return try a.interpreter.elements(of: value).first ?? .undefined("first")
        },
        "last": Builtin { value, a in
            if case .generator = value { throw a.mismatch(value, "a list") }
            return try a.interpreter.elements(of: value).last ?? .undefined("last")
        },
        "list": Builtin { value, a in try a.interpreter.list(a.interpreter.elements(of: value)) },
        "join": Builtin("d? attribute?", join),
        "reverse": Builtin { value, a in
            let elements = try a.interpreter.elements(of: value)
            switch value {
            case .string(let text): return try a.interpreter.string(text.unicodeScalars.reversed())
            case .generator: return try a.interpreter.list(elements.reversed())
            default: return try a.interpreter.generator(elements.reversed())
            }
        },
        "batch": Builtin("linecount fill_with?") { value, a in
            guard let size = try a.int(0), size > 0 else { throw a.error("'batch' needs a positive count") }
            var items = try a.interpreter.elements(of: value)
            if let fill = a.value(1), items.count % size != 0 {
                let missing = size - items.count % size
                try a.interpreter.charge(missing)
                items += Array(repeating: fill, count: missing)
            }
            return try a.interpreter.generator(stride(from: 0, to: items.count, by: size).map { try a.interpreter.list(Array(items[$0..<min($0 + size, items.count)])) })
        },
        "slice": Builtin("slices fill_with?", slice),
        "sum": Builtin("attribute? start?") { value, a in
            let attribute = try a.value(0).map { try a.interpreter.attributeGetter($0) }
            return try a.interpreter.elements(of: value).reduce(a[1] ?? .int(0)) { try a.interpreter.apply(.add, $0, attribute?($1) ?? $1) }
        },
    ]

    private static let length: Builtin.Body = { value, a in
        switch value {
        case .undefined: return .int(0)
        case .string(let text), .markup(let text): return .int(text.unicodeScalars.count)
        case .items(let items): return .int(items.values.count)
        case .mapping(let mapping): return .int(mapping.members.count)
        case .loop(let loop): return .int(loop.items.count)
        default: throw a.error("\(value.typeName) has no length")
        }
    }

    private static let join: Builtin.Body = { value, a in
        let attribute = try a.value(1).map { try a.interpreter.attributeGetter($0) }
        let separator = try a[0].map { try a.interpreter.text($0) } ?? ""
        var result = ""
        for (index, item) in try a.interpreter.elements(of: value).enumerated() {
            if index > 0 { result += separator }
            result += try a.interpreter.text(attribute?(item) ?? item)
            guard result.utf8.count <= Interpreter.maximumBytes else { throw a.interpreter.tooLong() }
        }
        return try a.interpreter.string(result)
    }

    /// Columns of which the first are one longer where the items do not divide.
    private static let slice: Builtin.Body = { value, a in
        guard let count = try a.int(0), count > 0 else { throw a.error("'slice' needs a positive count") }
        try a.interpreter.charge(count)
        let items = try a.interpreter.elements(of: value)
        let (size, longer) = items.count.quotientAndRemainder(dividingBy: count)
        var start = 0
        return try a.interpreter.generator((0..<count).map { index in
            let end = start + size + (index < longer ? 1 : 0)
            var part = Array(items[start..<end])
            start = end
            if let fill = a.value(1), index >= longer { part.append(fill) }
            return try a.interpreter.list(part)
        })
    }
}
