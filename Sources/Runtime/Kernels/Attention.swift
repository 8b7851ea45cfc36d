import CKernels
import GraphIR
import Operators
import Tensors

/// Scaled dot-product attention in f32, in pieces of some queries of one head, over all keys or those of the queries' sequence.
struct AttentionKernel: Kernel {
    private let op: ScaledDotProductAttention
    private let query: AttentionView
    private let key: AttentionView
    private let value: AttentionView
    private let target: AttentionView
    /// nil without a mask.
    private let mask: Mask?
    /// Of rows that are several sequences: how many; nil where they are one.
    private let sequences: Int?
    /// Of sequences: what a score gets by its positions; nil for nothing.
    private let bias: Bias?

    private struct Bias {
        let positions: Int
        let headStride: Int
    }

    private struct Mask {
        let isBool: Bool
        let count: Int
        /// Elements to skip per batch, head and query.
        let strides: (batch: Int, head: Int, query: Int)
    }

    private static let queryBlock = 64

    init?(_ op: ScaledDotProductAttention, _ request: KernelRequest) {
        func view(_ index: Int) -> AttentionView? {
            guard let type = request.operand(index), type.dtype == .f32 else { return nil }
            return (request.attentionLayout.operands[index] ?? AttentionView(plain: type.shape)).flatMap { $0.fits(type.count) ? $0 : nil }
        }
        guard let query = view(0), let key = view(1), let value = view(2), let output = request.outputs.first, output.dtype == .f32,
            let target = request.attentionLayout.output ?? AttentionView(plain: output.shape), target.fits(output.count)
        else { return nil }
        self.op = op
        (self.query, self.key, self.value, self.target) = (query, key, value, target)
        let (batch, heads, queries, width) = (query.sizes[0], query.sizes[1], query.sizes[2], query.sizes[3])
        let (sharedHeads, keys, valueWidth) = (key.sizes[1], key.sizes[2], value.sizes[3])
        guard key.sizes == [batch, sharedHeads, keys, width], value.sizes == [batch, sharedHeads, keys, valueWidth],
            target.sizes == [batch, heads, queries, valueWidth], keys > 0, sharedHeads > 0, heads % sharedHeads == 0,
            ck_attention_scratch(keys, width, valueWidth) > 0
        else { return nil }
        sequences = request.operand(4).map { $0.count - 1 }
        guard sequences == nil || batch == 1 && queries == keys else { return nil }
        bias = request.operand(6).map { Bias(positions: $0.shape[2], headStride: $0.shape[1] == 1 ? 0 : $0.shape[2] * $0.shape[3]) }
        if let type = request.operand(6) {
            guard sequences != nil, type.dtype == .f32, type.shape[2] == type.shape[3], type.shape[1] == 1 || type.shape[1] == heads,
                request.operand(5)?.shape == [1, queries], request.operand(3).map({ Array($0.shape.dropLast()).allSatisfy { $0 == 1 } }) ?? true
            else { return nil }
        }
        guard let given = request.operand(3) else {
            mask = nil
            return
        }
        let scores = [batch, heads, queries, keys]
        guard given.dtype == .f32 || given.dtype == .bool, given.rank <= 4,
            zip(given.shape, scores.suffix(given.rank)).allSatisfy({ $0 == $1 || $0 == 1 })
        else { return nil }
        let strides = Shape.broadcastStrides(given.shape, to: scores)
        // One value for all keys changes nothing but for infinities; that is for the reference.
        guard keys == 1 || strides[3] == 1 else { return nil }
        mask = Mask(isBool: given.dtype == .bool, count: given.count, strides: (strides[0], strides[1], strides[2]))
    }

    private var batch: Int { query.sizes[0] }
    private var heads: Int { query.sizes[1] }
    private var queries: Int { query.sizes[2] }
    private var keys: Int { key.sizes[2] }

    var name: String {
        sequences.map { "attention of \($0) sequences x \(heads) x \(queries)" } ?? "attention \(batch) x \(heads) x [\(queries), \(keys)]"
    }

    /// The added form of a bool mask, then the scratch of each worker.
    private var maskBytes: Int { mask.map { $0.isBool ? ($0.count * 4 + 63) / 64 * 64 : 0 } ?? 0 }
    private var workerBytes: Int { (ck_attention_scratch(keys, key.sizes[3], value.sizes[3]) * 4 + 63) / 64 * 64 }

    /// Mask and bias of a piece's queries.
    private var biasBytes: Int { bias == nil ? 0 : Self.queryBlock * keys * 4 }

    func scratchBytes(threads: Int) -> Int { maskBytes + threads * (workerBytes + biasBytes) }

    func run(_ memory: KernelMemory) throws {
        let q = try memory.input(0, as: Float.self)
        let k = try memory.input(1, as: Float.self)
        let v = try memory.input(2, as: Float.self)
        let output = memory.output(as: Float.self)
        var added: UnsafePointer<Float>?
        if let mask {
            if mask.isBool {
                let bits = try memory.input(3, as: UInt8.self)
                let values = memory.scratch.assumingMemoryBound(to: Float.self)
                for index in 0..<mask.count { values[index] = bits[index] != 0 ? 0 : -.infinity }
                added = UnsafePointer(values)
            } else {
                added = try memory.input(3, as: Float.self)
            }
        }
        let (batch, heads, group, valueWidth) = (batch, heads, heads / key.sizes[1], value.sizes[3])
        let blocks = try blocks(memory)
        let places = bias == nil ? nil : UnsafeBufferPointer(start: try memory.input(5, as: Int64.self), count: queries)
        let table = bias == nil ? nil : try memory.input(6, as: Float.self)
        if let bias, let places, let wrong = places.first(where: { $0 < 0 || $0 >= bias.positions }) {
            throw OperatorError(.shapeMismatch, "position \(wrong) is outside a bias of \(bias.positions) positions")
        }
        WorkerPool.parallelFor(threads: memory.threads, count: batch * heads * blocks.count) { piece, worker in
            let (b, h, block) = (piece / (heads * blocks.count), piece / blocks.count % heads, blocks[piece % blocks.count])
            let row = block.queries.lowerBound, first = block.keys.lowerBound
            let result = output + target.start(b, h, row)
            if block.keys.isEmpty {
                for index in 0..<block.queries.count { (result + index * target.rowStride).update(repeating: 0, count: valueWidth) }
                return
            }
            var work = ck_attention()
            work.rows = block.queries.count
            work.keys = block.keys.count
            work.head_size = query.sizes[3]
            work.value_size = valueWidth
            work.q = q + query.start(b, h, row)
            work.q_stride = query.rowStride
            work.k = k + key.start(b, h / group, first)
            work.k_stride = key.rowStride
            work.v = v + value.start(b, h / group, first)
            work.v_stride = value.rowStride
            if let mask, let added {
                work.mask = added + b * mask.strides.batch + h * mask.strides.head + row * mask.strides.query + first
                work.mask_stride = mask.strides.query
            }
            let scratch = memory.scratch + maskBytes + worker * (workerBytes + biasBytes)
            if let bias, let places, let table {
                let sums = (scratch + workerBytes).assumingMemoryBound(to: Float.self)
                for query in block.queries {
                    let from = table + h * bias.headStride + Int(places[query]) * bias.positions
                    let to = sums + (query - row) * block.keys.count
                    for key in block.keys { to[key - first] = from[Int(places[key])] + (added.map { $0[key] } ?? 0) }
                }
                work.mask = UnsafePointer(sums)
                work.mask_stride = block.keys.count
            }
            work.scale = op.scale
            work.causal = op.isCausal
            work.causal_offset = (sequences == nil ? keys - queries : 0) + row - first
            work.empty_rows_are_zero = op.emptyRowsAreZero
            work.out = result
            work.out_stride = target.rowStride
            ck_attention_f32(&work, scratch.assumingMemoryBound(to: Float.self))
        }
    }

    /// Queries of one piece of work, and the keys that they see.
    private struct Block {
        let queries: Range<Int>
        let keys: Range<Int>
    }

    private func blocks(_ memory: KernelMemory) throws -> [Block] {
        func blocks(_ rows: Range<Int>, _ keys: Range<Int>) -> [Block] {
            let count = (rows.count + Self.queryBlock - 1) / Self.queryBlock
            return (0..<count).map { number in
                let start = rows.lowerBound + number * rows.count / count, end = rows.lowerBound + (number + 1) * rows.count / count
                return Block(queries: start..<end, keys: keys)
            }
        }
        guard let sequences else { return blocks(0..<queries, 0..<keys) }
        let offsets = UnsafeBufferPointer(start: try memory.input(4, as: Int64.self), count: sequences + 1)
        let ranges = try TokenRows.sequences(offsets, count: queries)
        let end = ranges.last?.upperBound ?? 0
        // The longest first, so that no thread is left with one at the end.
        let sorted = ranges.sorted { $0.count > $1.count }
        return sorted.flatMap { blocks($0, $0) } + blocks(end..<queries, 0..<0)
    }
}
