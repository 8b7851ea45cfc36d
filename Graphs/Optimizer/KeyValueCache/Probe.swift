import GraphIR
import Tensors

/// How an export tells padding. All agree where there is none, and where a first run has it at the end; with padding on the left the cache
/// leaves it out, as an export would that looks at the mask.
enum PaddingReading: CaseIterable {
    /// By the attention mask, place by place.
    case places
    /// By the number of ones in the attention mask.
    case count
    /// Not at all.
    case none
}

/// One trial of sizes and padding: what masks and positions are evaluated for, to see what they mean.
struct Probe {
    let batch: Int
    let sequence: Int
    let past: Int
    /// `[batch, past + sequence]`, 1 for a token, 0 for padding.
    let mask: [Int64]

    var total: Int { past + sequence }
    var isPadded: Bool { mask.contains(0) }

    /// Whole rows.
    init(batch: Int, sequence: Int, past: Int) {
        self.batch = batch
        self.sequence = sequence
        self.past = past
        mask = Array(repeating: 1, count: batch * (past + sequence))
    }

    private init(padding probe: Probe, _ isToken: (_ row: Int, _ place: Int) -> Bool) {
        batch = probe.batch
        sequence = probe.sequence
        past = probe.past
        mask = probe.mask.indices.map { isToken($0 / probe.total, $0 % probe.total) ? 1 : 0 }
    }

    /// Several sizes, each whole, padded on the left, on the right, and with holes.
    static func all(_ interface: CausalInterface, in graph: Graph) -> [Probe] {
        let sizes = interface.pasts.isEmpty
            ? [(2, 3, 0), (1, 1, 0), (2, 4, 0), (1, 7, 0), (3, 9, 0)] : [(2, 3, 2), (1, 1, 5), (2, 4, 0), (1, 7, 0), (3, 2, 6)]
        let fixedBatch = graph.type(interface.ids).dims[0].fixedValue
        return sizes.flatMap { batch, sequence, past -> [Probe] in
            let whole = Probe(batch: fixedBatch ?? batch, sequence: sequence, past: past)
            let isMasked = interface.mask != nil
            guard isMasked, whole.total > 1 else { return [whole] }
            return [
                whole,
                Probe(padding: whole) { row, place in place >= (row * 2 + 1) % whole.total },
                Probe(padding: whole) { row, place in place < whole.total - (row + 1) % whole.total },
                Probe(padding: whole) { row, place in (row * 5 + place * 3 + place * place) % 4 != 1 },
            ]
        }
    }

    /// Positions of the new tokens: how many real tokens stand before each, the past included.
    var positions: [Int64] {
        let all = Self.positions(mask: mask, rows: batch)
        return (0..<batch).flatMap { all[$0 * total + past..<($0 + 1) * total] }
    }

    static func positions(mask: [Int64], rows: Int) -> [Int64] {
        guard rows > 0 else { return [] }
        let width = mask.count / rows
        var result = mask
        for row in 0..<rows {
            var next: Int64 = 0
            for index in row * width..<(row + 1) * width {
                result[index] = next
                if mask[index] != 0 { next += 1 }
            }
        }
        return result
    }

    /// How many tokens of the past a row has when its padding is known by number alone: all that are not new. In a first run none.
    func pastCount(_ row: Int) -> Int {
        let count = mask[row * total..<(row + 1) * total].reduce(0) { $0 + ($1 != 0 ? 1 : 0) }
        return max(count - sequence, 0)
    }

    /// Whether new token `index` of a row is no padding.
    func isToken(_ row: Int, _ index: Int) -> Bool { mask[row * total + past + index] != 0 }

    /// Evaluates values that follow from sizes, mask and positions.
    func evaluator(_ graph: Graph, _ interface: CausalInterface, definitions: [ValueID: Int]) throws -> SubgraphEvaluator {
        var values: [ValueID: Tensor] = [:]
        if let id = interface.mask { values[id] = try Tensor(integers: mask, dtype: graph.type(id).dtype, shape: [batch, total]) }
        if let id = interface.positions { values[id] = try Tensor(integers: positions, dtype: graph.type(id).dtype, shape: [batch, sequence]) }
        return SubgraphEvaluator(
            graph, definition: { definitions[$0].map { graph.nodes[$0] } }, symbols: ["batch": batch, "sequence": sequence, "past": past], values: values)
    }
}
