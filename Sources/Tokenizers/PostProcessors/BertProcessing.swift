/// `[CLS] A [SEP]`, `[CLS] A [SEP] B [SEP]`; type 1 for B and the mark after it.
struct BertProcessing: PostProcessor {
    static let typeName = "BertProcessing"
    private let separator: SpecialToken
    private let classifier: SpecialToken

    init(_ json: ComponentJSON) throws {
        separator = SpecialToken(try json.tokenPair("sep"))
        classifier = SpecialToken(try json.tokenPair("cls"))
    }

    func addedTokenCount(isPair: Bool) -> Int { isPair ? 3 : 2 }

    func process(_ encodings: [Encoding], addSpecialTokens: Bool) -> [Encoding] {
        guard addSpecialTokens else { return encodings }
        return encodings.enumerated().map { index, encoding in
            index == 0
                ? encoding.surrounded(before: classifier, after: separator, typeID: 0)
                : encoding.surrounded(before: nil, after: separator, typeID: 1)
        }
    }
}
