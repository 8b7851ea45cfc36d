/// Adds the special tokens of a model around one or two sequences.
protocol PostProcessor: Sendable {
    static var typeName: String { get }
    init(_ json: ComponentJSON) throws
    /// How many tokens `process` adds.
    func addedTokenCount(isPair: Bool) -> Int
    /// Takes one or two encodings and gives the parts that, joined, are the result.
    func process(_ encodings: [Encoding], addSpecialTokens: Bool) -> [Encoding]
}

enum PostProcessors {
    /// Every post-processor that a tokenizer file can name.
    static let all: [any PostProcessor.Type] = [
        BertProcessing.self,
        RobertaProcessing.self,
        TemplateProcessing.self,
        ByteLevel.self,
        PostProcessorSequence.self,
    ]

    static func read(_ json: ComponentJSON) throws -> any PostProcessor {
        let name = try json.type()
        guard let type = all.first(where: { $0.typeName == name }) else {
            throw json.unsupported("the post-processor \(name)")
        }
        return try type.init(json)
    }
}

/// Several post-processors, one after the other.
struct PostProcessorSequence: PostProcessor {
    static let typeName = "Sequence"
    private let processors: [any PostProcessor]

    init(_ json: ComponentJSON) throws {
        processors = try json.components("processors").map(PostProcessors.read)
    }

    func addedTokenCount(isPair: Bool) -> Int { processors.reduce(0) { $0 + $1.addedTokenCount(isPair: isPair) } }

    func process(_ encodings: [Encoding], addSpecialTokens: Bool) -> [Encoding] {
        processors.reduce(encodings) { $1.process($0, addSpecialTokens: addSpecialTokens) }
    }
}
