/// Special tokens and sequences in the order of a template.
struct TemplateProcessing: PostProcessor {
    static let typeName = "TemplateProcessing"

    private enum Item {
        case sequence(Int, typeID: UInt32)
        case special([SpecialToken], typeID: UInt32)
    }

    private let single: [Item]
    private let pair: [Item]

    init(_ json: ComponentJSON) throws {
        single = try Self.items("single", json)
        pair = try Self.items("pair", json)
        for item in single {
            if case .sequence(1, _) = item { throw json.invalid("single", "has the sequence B") }
        }
        let both = Set(pair.compactMap { item in if case .sequence(let index, _) = item { index } else { nil } })
        guard both.count == 2 else { throw json.invalid("pair", "must have the sequences A and B") }
    }

    private static func items(_ key: String, _ json: ComponentJSON) throws -> [Item] {
        try json.components(key).map { item in
            if let sequence = try item.optionalComponent("Sequence") {
                let id = try sequence.string("id")
                guard id == "A" || id == "B" else { throw sequence.invalid("id", "expected A or B") }
                return .sequence(id == "A" ? 0 : 1, typeID: UInt32(try sequence.count("type_id")))
            }
            let special = try item.component("SpecialToken")
            let name = try special.bytes("id")
            guard case .object(let members)? = json.value["special_tokens"]?.content,
                let found = members.first(where: { $0.key == name })?.value
            else { throw special.invalid("id", "not in special_tokens") }
            let token = ComponentJSON(found, path: json.path + ".special_tokens", blobs: json.blobs)
            let ids = try token.array("ids").map { $0.int.flatMap { UInt32(exactly: $0) } }
            let contents = try token.array("tokens").map(\.bytes)
            guard ids.count == contents.count else { throw token.invalid("ids", "not as many as tokens") }
            let tokens = try zip(ids, contents).map { id, content in
                guard let id, let content else { throw token.invalid("ids", "expected ids and strings") }
                return SpecialToken((content, id))
            }
            return .special(tokens, typeID: UInt32(try special.count("type_id")))
        }
    }

    func addedTokenCount(isPair: Bool) -> Int {
        (isPair ? pair : single).reduce(0) { count, item in
            if case .special(let tokens, _) = item { count + tokens.count } else { count }
        }
    }

    func process(_ encodings: [Encoding], addSpecialTokens: Bool) -> [Encoding] {
        (encodings.count > 1 ? pair : single).compactMap { item in
            switch item {
            case .sequence(let index, let typeID):
                guard encodings.indices.contains(index) else { return nil }
                var encoding = encodings[index]
                encoding.setTypeID(typeID, includingOverflow: false)
                encoding.setSequenceID(index)
                return encoding
            case .special(let tokens, let typeID):
                guard addSpecialTokens, let first = encodings.first else { return nil }
                return first.special(tokens, typeID: typeID)
            }
        }
    }
}
