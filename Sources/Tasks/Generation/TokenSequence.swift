import Runtime
import Tensors

/// Tokens whose keys and values a model has computed. A call that repeats the start of an earlier one computes only the rest.
///
/// Not `Sendable`: one task at a time uses a sequence; a model serves any number of them.
public final class TokenSequence {
    let model: LanguageModel
    let batch: Int
    /// nil where the model's graph keeps nothing: every step runs all tokens then.
    private let cache: KeyValueCache?
    /// The tokens in the cache, by row, padding included.
    private var rows: [[Int]]
    private var masks: [[Int]]?

    init(_ model: LanguageModel, batch: Int, cache: KeyValueCache?) {
        self.model = model
        self.batch = batch
        self.cache = cache
        rows = Array(repeating: [], count: batch)
    }

    /// Tokens so far.
    public var count: Int { rows.first?.count ?? 0 }
    /// Positions left.
    public var room: Int { model.contextLength - count }

    /// Makes the sequence `ids`, of which a common start is kept, and gives the logits behind it.
    ///
    /// - Returns: The logits, `[1, vocabulary]`, and how many tokens were kept.
    /// - Throws: `TaskError` for ids outside the vocabulary or beyond the context; `CancellationError` between chunks.
    func set(_ ids: [Int], isCancelled: () -> Bool = { false }) throws -> (logits: Tensor, kept: Int) {
        try model.check(ids)
        guard !ids.isEmpty else { throw TaskError(.invalidInput, "the prompt has no tokens; give at least one") }
        guard ids.count <= model.contextLength else {
            throw TaskError(
                .invalidInput, "the prompt has \(ids.count) tokens, more than the context of \(model.contextLength); shorten it or use a larger context")
        }
        // The last token always runs: its logits are wanted.
        let common = cache == nil ? 0 : min(zip(rows[0], ids).prefix { $0 == $1 }.count, ids.count - 1)
        cache?.truncate(to: common)
        rows[0].removeSubrange(common...)
        masks = nil
        let logits = try append([Array(ids[common...])], mask: nil, isCancelled: isCancelled)
        return (logits, common)
    }

    /// Starts a batch anew with prompts of several lengths, padded on the left.
    func set(_ prompts: [[Int]], isCancelled: () -> Bool = { false }) throws -> Tensor {
        for ids in prompts {
            try model.check(ids)
            guard !ids.isEmpty else { throw TaskError(.invalidInput, "a prompt has no tokens; give at least one") }
        }
        let length = prompts.map(\.count).max() ?? 0
        guard length <= model.contextLength else {
            throw TaskError(.invalidInput, "a prompt has \(length) tokens, more than the context of \(model.contextLength)")
        }
        cache?.truncate(to: 0)
        rows = Array(repeating: [], count: batch)
        masks = Array(repeating: [], count: batch)
        let padding = model.settings.paddingToken.flatMap { $0 < model.vocabularySize ?? .max ? $0 : nil } ?? 0
        return try append(
            prompts.map { Array(repeating: padding, count: length - $0.count) + $0 },
            mask: prompts.map { Array(repeating: 0, count: length - $0.count) + Array(repeating: 1, count: $0.count) }, isCancelled: isCancelled)
    }

    /// Appends one token to each row and gives the logits behind it, `[batch, vocabulary]`.
    func append(_ ids: [Int]) throws -> Tensor { try append(ids.map { [$0] }, mask: masks == nil ? nil : ids.map { _ in [1] }) }

    /// Makes the sequence `ids` from the start, and hands over the logits of all its positions, `[1, tokens, vocabulary]`, by chunks.
    func runAll(_ ids: [Int], isCancelled: () -> Bool, body: (_ start: Int, _ logits: Tensor) throws -> Void) throws {
        cache?.truncate(to: 0)
        rows = [[]]
        masks = nil
        // Logits of many positions are large; without a cache there is no other way.
        let chunk = cache == nil ? ids.count : LanguageModel.scoringChunkLength
        var start = 0
        while start < ids.count {
            if isCancelled() { throw CancellationError() }
            let part = Array(ids[start..<min(start + chunk, ids.count)])
            try body(start, try model.run([part], cache: cache, allPositions: true))
            rows[0] += part
            start += part.count
        }
    }

    /// Drops everything from position `count` on.
    public func truncate(to count: Int) {
        cache?.truncate(to: count)
        for row in rows.indices where count < rows[row].count { rows[row].removeSubrange(max(count, 0)...) }
    }

    private func append(_ new: [[Int]], mask: [[Int]]?, isCancelled: () -> Bool = { false }) throws -> Tensor {
        let length = new.first?.count ?? 0
        var logits: Tensor?
        var start = 0
        // Without a cache a step runs everything at once.
        let chunk = cache == nil ? length : LanguageModel.chunkLength
        while start < length {
            if isCancelled() { throw CancellationError() }
            let range = start..<min(start + chunk, length)
            let part = new.map { Array($0[range]) }
            let partMask = mask.map { $0.map { Array($0[range]) } }
            if cache == nil {
                let all = zip(rows, part).map(+)
                let allMask = partMask.map { zip(masks ?? rows.map { $0.map { _ in 1 } }, $0).map(+) }
                logits = try model.run(all, mask: allMask, cache: nil, allPositions: false)
            } else {
                logits = try model.run(part, mask: partMask, cache: cache, allPositions: false)
            }
            for row in rows.indices { rows[row] += part[row] }
            if let partMask {
                let before = masks ?? rows.map { _ in [] }
                masks = zip(before, partMask).map(+)
            }
            start = range.upperBound
        }
        guard let logits else { throw TaskError(.invalidInput, "there is no token to run") }
        return logits
    }
}
