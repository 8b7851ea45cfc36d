import Foundation
import GraphFile
import GraphIR
import Runtime
import Tensors
import Tokenizers

/// A loaded `.graph` with its tokenizer: text in, tensors out. What every task stands on.
public final class TextModel: Sendable {
    public let description: ModelDescription
    public let provenance: Provenance
    public let tokenizer: Tokenizer
    /// Longest input in tokens, special tokens included; nil where neither model nor caller sets one.
    public let maximumLength: Int?
    let executor: Executor
    private let inputs: ModelDescription.TextInputs
    private let batchSize: Int

    /// More padded tokens than that do not run together, to bound memory.
    private static let maximumBatchTokens = 16_384

    /// Loads a `.graph` file.
    ///
    /// - Throws: `FileError` and `GraphFileError` for the file, `TaskError` where it holds no tokenizer or takes no text.
    public convenience init(contentsOf url: URL, options: ModelOptions = ModelOptions()) throws {
        try self.init(GraphFile(contentsOf: url), name: url.lastPathComponent, options: options)
    }

    public init(_ file: GraphFile, name: String, options: ModelOptions = ModelOptions()) throws {
        guard let tokenizer = try Tokenizer(file) else {
            throw TaskError(.unsuitableModel, "\(name) holds no tokenizer; convert it again with --tokenizer PATH")
        }
        guard let inputs = file.description.inputs else {
            throw TaskError(.unsuitableModel, "\(name) does not say which inputs take text; use 'run' with tensors")
        }
        self.tokenizer = tokenizer
        description = file.description
        provenance = file.provenance
        self.inputs = inputs
        batchSize = max(options.batchSize, 1)
        maximumLength = [options.maximumLength, file.description.maximumLength].compactMap { $0 }.min()
        executor = try Executor(graph: file.graph, options: ExecutorOptions(threads: options.threads))
        let names = Set(executor.inputs.map(\.name))
        for input in [inputs.ids, inputs.attentionMask, inputs.typeIDs].compactMap({ $0 }) where !names.contains(input) {
            throw TaskError(.unsuitableModel, "\(name) describes a text input '\(input)' that its graph does not have")
        }
    }

    /// Token ids and masks, cut to the model's length.
    public func encode(_ text: String, pair: String? = nil) throws -> Encoding {
        let truncation = maximumLength.map { Truncation(maxLength: $0) }
        return try tokenizer.encode(text, pair: pair, addSpecialTokens: true, truncation: truncation)
    }

    /// Runs encodings through the graph in batches of similar length, and hands each one's row of one output to `body`.
    ///
    /// - Parameters:
    ///   - output: The name of a graph output whose first dimension is the batch.
    ///   - body: Called once for each encoding, in no particular order: its index, the type of the row (dims without the batch) and the
    ///     row's elements as f32. Rows of token outputs have the padded length.
    func run(
        _ encodings: [Encoding], output: String, isCancelled: () -> Bool = { false },
        body: (_ index: Int, _ shape: [Int], _ row: UnsafeBufferPointer<Float>) throws -> Void
    ) throws {
        // Longest first: the largest batch sizes the memory once.
        let order = encodings.indices.sorted { encodings[$0].ids.count > encodings[$1].ids.count }
        var start = 0
        while start < order.count {
            if isCancelled() { throw CancellationError() }
            let length = max(encodings[order[start]].ids.count, 1)
            let count = min(max(Self.maximumBatchTokens / length, 1), batchSize, order.count - start)
            let batch = order[start..<start + count]
            start += count
            let result = try executor.run(try tensors(batch.map { encodings[$0] }, length: length), outputs: [output])
            guard let tensor = result[output] else {
                throw TaskError(.unsuitableModel, "the model has no output '\(output)'")
            }
            guard tensor.rank >= 1, tensor.shape[0] == count else {
                throw TaskError(.unsuitableModel, "output '\(output)' has shape \(tensor.shape), expected \(count) rows")
            }
            let values = tensor.dtype == .f32 ? tensor : try tensor.converted(to: .f32)
            let shape = Array(values.shape.dropFirst())
            let rowCount = try Shape.count(shape)
            try values.withElements(of: Float.self) { elements in
                for (row, index) in batch.enumerated() {
                    try body(index, shape, UnsafeBufferPointer(rebasing: elements[row * rowCount..<(row + 1) * rowCount]))
                }
            }
        }
    }

    /// The input tensors of a batch, padded to `length`.
    private func tensors(_ encodings: [Encoding], length: Int) throws -> [String: Tensor] {
        let pad = Int64(tokenizer.settings.padToken?.id ?? 0)
        var result: [String: Tensor] = [:]
        func add(_ name: String?, padding: Int64, _ values: (Encoding) -> [Int64]) throws {
            guard let name, let input = executor.inputs.first(where: { $0.name == name }) else { return }
            var elements: [Int64] = []
            elements.reserveCapacity(encodings.count * length)
            for encoding in encodings {
                let row = values(encoding)
                elements += row
                elements += repeatElement(padding, count: length - row.count)
            }
            result[name] = try Tensor(integers: elements, dtype: input.type.dtype, shape: [encodings.count, length])
        }
        try add(inputs.ids, padding: pad) { $0.ids.map { Int64($0) } }
        try add(inputs.attentionMask, padding: 0) { $0.ids.map { _ in 1 } }
        try add(inputs.typeIDs, padding: 0) { $0.typeIDs.map { Int64($0) } }
        return result
    }
}

extension Tokenizer {
    /// The tokenizer that a `.graph` file holds, used in place; nil where it holds none.
    public init?(_ file: GraphFile) throws {
        guard let (storage, range) = file.tokenizer else { return nil }
        try self.init(compiled: TokenizerBytes(UnsafeRawBufferPointer(rebasing: storage.bytes[range]), owner: storage))
    }
}
