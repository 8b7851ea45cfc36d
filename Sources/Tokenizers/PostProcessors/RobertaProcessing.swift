/// `<s> A </s>`, `<s> A </s> </s> B </s>`; all type 0.
struct RobertaProcessing: PostProcessor {
    static let typeName = "RobertaProcessing"
    private let separator: SpecialToken
    private let classifier: SpecialToken
    private let trimsOffsets: Bool
    private let addsPrefixSpace: Bool

    init(_ json: ComponentJSON) throws {
        separator = SpecialToken(try json.tokenPair("sep"))
        classifier = SpecialToken(try json.tokenPair("cls"))
        trimsOffsets = try json.bool("trim_offsets", default: true)
        addsPrefixSpace = try json.bool("add_prefix_space", default: true)
    }

    func addedTokenCount(isPair: Bool) -> Int { isPair ? 4 : 2 }

    func process(_ encodings: [Encoding], addSpecialTokens: Bool) -> [Encoding] {
        encodings.enumerated().map { index, encoding in
            var encoding = trimsOffsets ? encoding.trimmingSpaces(hasPrefixSpace: addsPrefixSpace) : encoding
            encoding.setTypeID(0, includingOverflow: addSpecialTokens)
            guard addSpecialTokens else { return encoding }
            return encoding.surrounded(before: index == 0 ? classifier : separator, after: separator, typeID: 0)
        }
    }
}
