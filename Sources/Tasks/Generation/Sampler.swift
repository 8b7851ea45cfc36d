import Foundation

/// Chooses tokens. The steps are those of transformers, in its order: repetition penalty, temperature, top-k, top-p, min-p.
struct Sampler {
    private let options: SamplingOptions
    private var random: SplitMix64
    /// The seed in use.
    let seed: UInt64
    private var scores: [Float] = []
    /// Ids that may still be drawn, likeliest first once sorted.
    private var candidates: [Int] = []

    /// - Throws: `TaskError` for options out of range.
    init(_ options: SamplingOptions) throws {
        self.options = try options.checked()
        seed = options.seed ?? UInt64.random(in: 0...UInt64(UInt32.max))
        random = SplitMix64(state: seed)
    }

    /// The next token.
    ///
    /// - Parameters:
    ///   - logits: By token id.
    ///   - history: The tokens so far, for the repetition penalty.
    /// - Throws: `TaskError` where the model gave no usable number.
    mutating func next(_ logits: UnsafeBufferPointer<Float>, history: [Int]) throws -> Int {
        if options.isGreedy, options.repetitionPenalty == 1 { return try Self.largest(logits) }
        let distribution = try distribution(logits, history: history)
        let total = distribution.reduce(0) { $0 + $1.weight }
        guard distribution.count > 1 else { return distribution.first?.id ?? 0 }
        var rest = random.unit() * total
        for (id, weight) in distribution {
            rest -= weight
            if rest < 0 { return id }
        }
        return distribution[distribution.count - 1].id
    }

    /// The tokens that can be drawn with their weights, the largest of which is 1; one token for greedy options.
    ///
    /// - Throws: as `next`.
    mutating func distribution(_ logits: UnsafeBufferPointer<Float>, history: [Int]) throws -> [(id: Int, weight: Double)] {
        scores.removeAll(keepingCapacity: true)
        scores.append(contentsOf: logits)
        if options.repetitionPenalty != 1 {
            for id in Set(history) where scores.indices.contains(id) {
                scores[id] = scores[id] < 0 ? scores[id] * options.repetitionPenalty : scores[id] / options.repetitionPenalty
            }
        }
        let best = try scores.withUnsafeBufferPointer(Self.largest)
        if options.isGreedy { return [(best, 1)] }
        return limited(largest: scores[best])
    }

    /// The likeliest token, of equals the first.
    ///
    /// - Throws: `TaskError` where all logits are NaN or minus infinity.
    static func largest(_ logits: UnsafeBufferPointer<Float>) throws -> Int {
        var best = -1
        var value = -Float.infinity
        for (id, logit) in logits.enumerated() where logit > value { (best, value) = (id, logit) }
        guard best >= 0, value < .infinity else {
            throw TaskError(.unsuitableModel, "the model's logits are not numbers, so no token can be chosen; its weights are damaged or overflow")
        }
        return best
    }

    private mutating func limited(largest: Float) -> [(id: Int, weight: Double)] {
        let temperature = options.temperature
        func weight(_ id: Int) -> Double {
            let score = (scores[id] - largest) / temperature
            return score.isNaN ? 0 : exp(Double(score))
        }
        candidates.removeAll(keepingCapacity: true)
        // Tokens below e^-40 of the largest add nothing to any sum in double precision that a draw could meet.
        let threshold = largest - 40 * temperature
        for id in scores.indices where scores[id] >= threshold { candidates.append(id) }
        if options.topK > 0, options.topK < candidates.count {
            selectLikeliest(options.topK)
        }
        if options.topP < 1 {
            let total = candidates.reduce(0) { $0 + weight($1) }
            var count = min(64, candidates.count)
            while true {
                selectLikeliest(count, keepingOthers: true)
                var sum = 0.0
                var kept = 0
                while kept < count, sum < Double(options.topP) * total {
                    sum += weight(candidates[kept])
                    kept += 1
                }
                if sum >= Double(options.topP) * total || count == candidates.count {
                    candidates.removeSubrange(max(kept, 1)...)
                    break
                }
                count = min(count * 4, candidates.count)
            }
        }
        if options.minP > 0 {
            let limit = Double(options.minP)
            candidates.removeAll { weight($0) < limit }
        }
        return candidates.map { ($0, weight($0)) }
    }

    /// Brings the `count` likeliest candidates to the front, in order; of equals the smaller id comes first.
    private mutating func selectLikeliest(_ count: Int, keepingOthers: Bool = false) {
        let scores = scores
        func precedes(_ a: Int, _ b: Int) -> Bool { scores[a] != scores[b] ? scores[a] > scores[b] : a < b }
        // A heap of the best so far, its worst on top: most candidates are turned away by one comparison.
        var heap: [Int] = []
        var others: [Int] = []
        heap.reserveCapacity(count)
        func sink(_ start: Int) {
            var parent = start
            while true {
                var worst = parent
                for child in [2 * parent + 1, 2 * parent + 2] where child < heap.count && precedes(heap[worst], heap[child]) { worst = child }
                if worst == parent { return }
                heap.swapAt(parent, worst)
                parent = worst
            }
        }
        for id in candidates {
            if heap.count < count {
                heap.append(id)
                if heap.count == count { for index in stride(from: count / 2, through: 0, by: -1) { sink(index) } }
            } else if precedes(id, heap[0]) {
                if keepingOthers { others.append(heap[0]) }
                heap[0] = id
                sink(0)
            } else if keepingOthers {
                others.append(id)
            }
        }
        heap.sort(by: precedes)
        candidates = heap + others
    }
}

/// A small generator whose sequence a seed fixes on every machine (Steele, Lea and Flood, 2014).
struct SplitMix64: RandomNumberGenerator {
    var state: UInt64

    mutating func next() -> UInt64 {
        state &+= 0x9E37_79B9_7F4A_7C15
        var z = state
        z = (z ^ (z >> 30)) &* 0xBF58_476D_1CE4_E5B9
        z = (z ^ (z >> 27)) &* 0x94D0_49BB_1331_11EB
        return z ^ (z >> 31)
    }

    /// Uniform in 0..<1, of 53 bits.
    mutating func unit() -> Double { Double(next() >> 11) * 0x1p-53 }
}
