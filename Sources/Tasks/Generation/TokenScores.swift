import Foundation
import Tensors

extension TokenLogprob {
    /// The log-probability of `id`, and the `top` likeliest tokens, by softmax of the logits.
    init(id: Int, logits: UnsafeBufferPointer<Float>, top count: Int) {
        let largest = logits.max() ?? 0
        var sum = 0.0
        for logit in logits { sum += exp(Double(logit - largest)) }
        let total = Double(largest) + log(sum)
        self.id = id
        logprob = logits.indices.contains(id) ? Float(Double(logits[id]) - total) : nil
        // Few are wanted: an insertion into a short list.
        var best: [Int] = []
        if count > 0 {
            for index in logits.indices where best.count < count || logits[index] > logits[best[best.count - 1]] {
                let place = best.firstIndex { logits[$0] < logits[index] } ?? best.count
                best.insert(index, at: place)
                if best.count > count { best.removeLast() }
            }
        }
        self.top = best.map { Alternative(id: $0, logprob: Float(Double(logits[$0]) - total)) }
    }

    init(first id: Int) {
        self.id = id
        logprob = nil
        top = []
    }
}

/// How well a model predicts a text.
public struct Perplexity: Sendable, Hashable {
    /// `exp(-mean log-probability)`.
    public let value: Double
    /// Tokens that were predicted.
    public let tokens: Int
    /// Negative log-probability of the whole text in bits, per byte of its UTF-8.
    public let bitsPerByte: Double
}

extension TokenSequence {
    /// The log-probability of each token given those before it; the first has none.
    ///
    /// - Throws: `TaskError` for ids outside the vocabulary or more than fit in the context.
    public func score(_ ids: [Int], top: Int = 0, isCancelled: () -> Bool = { false }) throws -> [TokenLogprob] {
        guard let first = ids.first else { return [] }
        var result = [TokenLogprob(first: first)]
        try forEachLogits(of: ids, isCancelled: isCancelled) { position, logits in
            if position + 1 < ids.count { result.append(TokenLogprob(id: ids[position + 1], logits: logits, top: top)) }
        }
        return result
    }

    /// Hands the logits behind each token to `body`. The sequence holds `ids` afterwards.
    func forEachLogits(
        of ids: [Int], isCancelled: () -> Bool = { false }, body: (_ position: Int, _ logits: UnsafeBufferPointer<Float>) throws -> Void
    ) throws {
        try model.check(ids)
        guard ids.count <= model.contextLength else {
            throw TaskError(.invalidInput, "the text has \(ids.count) tokens, more than the context of \(model.contextLength); shorten it or use a larger context")
        }
        try runAll(ids, isCancelled: isCancelled) { start, logits in
            guard logits.rank == 3, logits.shape[0] == 1 else { throw TaskError(.unsuitableModel, "the logits have shape \(logits.shape)") }
            let width = logits.shape[2]
            try logits.withElements(of: Float.self) { elements in
                for row in 0..<logits.shape[1] { try body(start + row, UnsafeBufferPointer(rebasing: elements[row * width..<(row + 1) * width])) }
            }
        }
    }
}
