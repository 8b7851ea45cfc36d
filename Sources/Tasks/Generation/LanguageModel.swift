import Foundation
import GraphFile
import GraphIR
import Optimizer
import Runtime
import Tensors
import Tokenizers

/// A loaded causal language model: token ids in, logits out. Any number of sequences (`TokenSequence`) run on one.
public final class LanguageModel: Sendable {
    public let description: ModelDescription
    public let provenance: Provenance
    /// nil where the file holds none: ids in, ids out then.
    public let tokenizer: Tokenizer?
    public let settings: GenerationSettings
    /// Positions that a sequence may have, prompt included.
    public let contextLength: Int
    let executor: Executor
    let vocabularySize: Int?
    private let inputs: Inputs
    private let logits: String
    /// The output with the last position alone; nil where the graph allows none.
    private let lastLogits: String?
    /// Keys and values are kept between runs.
    let hasCache: Bool

    private struct Inputs: Sendable {
        let ids: String
        let idType: DType
        let mask: (name: String, dtype: DType)?
        let positions: (name: String, dtype: DType)?
    }

    /// A context of this size serves where neither the model nor the caller says.
    static let usualContextLength = 4096
    /// Longer contexts are used when the caller asks: memory for keys and values is reserved for all positions.
    static let largestDefaultContextLength = 8192
    /// Tokens of a prompt that run together.
    static let chunkLength = 512
    /// The same where the logits of all positions are wanted, which are much larger than anything else.
    static let scoringChunkLength = 128

    /// Loads a `.graph` file.
    ///
    /// - Parameter contextLength: Positions, at most as many as the model was trained on; nil: as the model says, up to 8192.
    /// - Throws: `FileError` and `GraphFileError` for the file, `TaskError` where it is no causal language model.
    public convenience init(contentsOf url: URL, threads: Int? = nil, contextLength: Int? = nil) throws {
        try self.init(GraphFile(contentsOf: url), name: url.lastPathComponent, threads: threads, contextLength: contextLength)
    }

    public init(_ file: GraphFile, name: String, threads: Int? = nil, contextLength: Int? = nil) throws {
        guard file.description.task == .generation else {
            throw TaskError(.unsuitableModel, "\(name) is made for \(file.description.task.rawValue), not generation")
        }
        let given = file.description.inputs
        var graph = file.graph
        let names = graph.inputs.map { graph[$0].name }
        let ids = given?.ids ?? "input_ids"
        guard let idValue = graph.inputs.first(where: { graph[$0].name == ids }) else {
            throw TaskError(.unsuitableModel, "\(name) has no input '\(ids)' for token ids; its inputs are \(names.joined(separator: ", "))")
        }
        func optional(_ name: String?) -> (name: String, dtype: DType)? {
            guard let name, let id = graph.inputs.first(where: { graph[$0].name == name }) else { return nil }
            return (name, graph.type(id).dtype)
        }
        inputs = Inputs(
            ids: ids, idType: graph.type(idValue).dtype, mask: optional(given?.attentionMask ?? "attention_mask"),
            positions: optional("position_ids"))
        let served = [ids, inputs.mask?.name, inputs.positions?.name].compactMap { $0 }
        let missing = graph.inputs.filter { !served.contains(graph[$0].name) && graph[$0].inputDefault == nil }.map { graph[$0].name }
        guard missing.isEmpty else {
            throw TaskError(
                .unsuitableModel, "\(name) wants \(missing.prefix(4).joined(separator: ", ")) besides token ids; convert it again without --no-optimize, "
                    + "so that past keys and values become the graph's own cache")
        }
        let logits = file.description.output ?? "logits"
        self.logits = logits
        guard let output = graph.outputs.first(where: { $0.name == logits }), graph.type(output.value).rank == 3 else {
            throw TaskError(.unsuitableModel, "\(name) has no output '\(logits)' of [batch, sequence, vocabulary]")
        }
        vocabularySize = graph.type(output.value).dims[2].fixedValue
        hasCache = graph.nodes.contains { type(of: $0.op).usesCache }
        lastLogits = try LastPositionLogits.add(to: &graph, output: logits) ? LastPositionLogits.outputName : nil
        tokenizer = try Tokenizer(file)
        description = file.description
        provenance = file.provenance
        settings = file.description.generation ?? GenerationSettings()
        let trained = settings.contextLength ?? file.description.maximumLength
        let wanted = contextLength ?? min(trained ?? Self.usualContextLength, Self.largestDefaultContextLength)
        if let trained, wanted > trained {
            throw TaskError(.invalidInput, "a context of \(wanted) is more than the \(trained) positions that \(name) knows")
        }
        self.contextLength = wanted
        executor = try Executor(graph: graph, options: ExecutorOptions(threads: threads))
    }

    /// A new sequence of tokens (or several of equal length), with a cache of its own where the graph has one.
    ///
    /// - Throws: `RuntimeError` where there is no memory for the context.
    public func makeSequence(batch: Int = 1) throws -> TokenSequence {
        TokenSequence(self, batch: batch, cache: hasCache ? try executor.makeCache(batch: batch, capacity: contextLength) : nil)
    }

    /// - Throws: `TaskError` for an id that the model does not have.
    func check(_ ids: [Int]) throws {
        for id in ids where id < 0 || id >= vocabularySize ?? .max {
            throw TaskError(.invalidInput, "token id \(id) is outside the model's vocabulary of \(vocabularySize ?? 0)")
        }
    }

    /// Runs tokens behind those in the cache.
    ///
    /// - Parameters:
    ///   - rows: Token ids, rows of equal length.
    ///   - mask: 1 for real tokens; nil where all are.
    ///   - allPositions: `[batch, sequence, vocabulary]`; otherwise `[batch, vocabulary]` of the last position.
    func run(_ rows: [[Int]], mask: [[Int]]? = nil, cache: KeyValueCache?, allPositions: Bool) throws -> Tensor {
        let shape = [rows.count, rows.first?.count ?? 0]
        func tensor(_ values: [[Int]], _ dtype: DType) throws -> Tensor {
            try Tensor(integers: values.flatMap { $0.map(Int64.init) }, dtype: dtype, shape: shape)
        }
        var tensors = [inputs.ids: try tensor(rows, inputs.idType)]
        if let mask, let input = inputs.mask { tensors[input.name] = try tensor(mask, input.dtype) }
        if let input = inputs.mask, mask == nil, executor.inputs.first(where: { $0.name == input.name })?.hasDefault == false {
            tensors[input.name] = try tensor(rows.map { $0.map { _ in 1 } }, input.dtype)
        }
        if let input = inputs.positions {
            // Only graphs without a cache have this input, so positions start anew.
            tensors[input.name] = try tensor((mask ?? rows.map { $0.map { _ in 1 } }).map(Self.positions), input.dtype)
        }
        let output = allPositions ? logits : lastLogits ?? logits
        guard let result = try executor.run(tensors, outputs: [output], cache: cache)[output] else {
            throw TaskError(.unsuitableModel, "the model gave no output '\(output)'")
        }
        let values = result.dtype == .f32 ? result : try result.converted(to: .f32)
        guard !allPositions, lastLogits == nil else { return values }
        // The graph has only the logits of all positions.
        guard values.rank == 3, values.shape[0] == rows.count, values.shape[1] > 0 else {
            throw TaskError(.unsuitableModel, "output '\(output)' has shape \(values.shape)")
        }
        let (sequence, width) = (values.shape[1], values.shape[2])
        return try values.withElements(of: Float.self) { elements in
            var last: [Float] = []
            for row in 1...rows.count { last += elements[(row * sequence - 1) * width..<row * sequence * width] }
            return try Tensor(floats: last, shape: [rows.count, width])
        }
    }

    private static func positions(_ mask: [Int]) -> [Int] {
        var next = 0
        return mask.map { real in
            defer { next += real }
            return next
        }
    }
}
