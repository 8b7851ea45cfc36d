import CKernels
import GraphIR
import Operators
import Tensors

/// Scaled dot-product attention in f32, in pieces of some queries of one head, over all keys or those of the queries' sequence.
struct AttentionKernel: Kernel {
    private let op: ScaledDotProductAttention
    private let layout: AttentionLayout
    private let batch: Int
    private let heads: Int
    private let sharedHeads: Int
    private let queries: Int
    private let keys: Int
    private let width: Int
    private let valueWidth: Int
    /// nil without a mask.
    private let mask: Mask?
    /// Of rows that are several sequences: how many; nil where they are one.
    private let sequences: Int?

    private struct Mask {
        let isBool: Bool
        let count: Int
        /// Elements to skip per batch, head and query.
        let strides: (batch: Int, head: Int, query: Int)
    }

    private static let queryBlock = 64

    init?(_ op: ScaledDotProductAttention, _ request: KernelRequest) {
        guard let q = request.operand(0), let k = request.operand(1), let v = request.operand(2), let output = request.outputs.first,
            [q, k, v, output].allSatisfy({ $0.dtype == .f32 && $0.rank == 4 })
        else { return nil }
        func sizes(_ type: ConcreteType, _ isInterleaved: Bool) -> [Int] {
            isInterleaved ? [type.shape[0], type.shape[2], type.shape[1], type.shape[3]] : type.shape
        }
        let layout = request.attentionLayout
        let (qSizes, kSizes) = (sizes(q, layout.interleavesQuery), sizes(k, layout.interleavesKey))
        let vSizes = sizes(v, layout.interleavesValue)
        self.op = op
        self.layout = layout
        (batch, heads, queries, width) = (qSizes[0], qSizes[1], qSizes[2], qSizes[3])
        (sharedHeads, keys) = (kSizes[1], kSizes[2])
        valueWidth = vSizes[3]
        guard kSizes == [batch, sharedHeads, keys, width], vSizes == [batch, sharedHeads, keys, valueWidth],
            sizes(output, layout.interleavesOutput) == [batch, heads, queries, valueWidth], keys > 0, sharedHeads > 0,
            heads % sharedHeads == 0, ck_attention_scratch(keys, width, valueWidth) > 0
        else { return nil }
        sequences = request.operand(4).map { $0.count - 1 }
        guard sequences == nil || batch == 1 && queries == keys else { return nil }
        guard let given = request.operand(3) else {
            mask = nil
            return
        }
        let target = [batch, heads, queries, keys]
        guard given.dtype == .f32 || given.dtype == .bool, given.rank <= 4,
            zip(given.shape, target.suffix(given.rank)).allSatisfy({ $0 == $1 || $0 == 1 })
        else { return nil }
        let strides = Shape.broadcastStrides(given.shape, to: target)
        // One value for all keys changes nothing but for infinities; that is for the reference.
        guard keys == 1 || strides[3] == 1 else { return nil }
        mask = Mask(isBool: given.dtype == .bool, count: given.count, strides: (strides[0], strides[1], strides[2]))
    }

    var name: String {
        sequences.map { "attention of \($0) sequences x \(heads) x \(queries)" } ?? "attention \(batch) x \(heads) x [\(queries), \(keys)]"
    }

    /// The added form of a bool mask, then the scratch of each worker.
    private var maskBytes: Int { mask.map { $0.isBool ? ($0.count * 4 + 63) / 64 * 64 : 0 } ?? 0 }
    private var workerBytes: Int { (ck_attention_scratch(keys, width, valueWidth) * 4 + 63) / 64 * 64 }

    func scratchBytes(threads: Int) -> Int { maskBytes + threads * workerBytes }

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
        let group = heads / sharedHeads
        func start(_ b: Int, _ h: Int, _ heads: Int, _ rows: Int, _ width: Int, _ isInterleaved: Bool) -> Int {
            isInterleaved ? b * rows * heads * width + h * width : (b * heads + h) * rows * width
        }
        func stride(_ heads: Int, _ width: Int, _ isInterleaved: Bool) -> Int { isInterleaved ? heads * width : width }
        let qStride = stride(heads, width, layout.interleavesQuery)
        let kStride = stride(sharedHeads, width, layout.interleavesKey)
        let vStride = stride(sharedHeads, valueWidth, layout.interleavesValue)
        let outStride = stride(heads, valueWidth, layout.interleavesOutput)
        let blocks = try blocks(memory)
        WorkerPool.parallelFor(threads: memory.threads, count: batch * heads * blocks.count) { piece, worker in
            let (b, h, block) = (piece / (heads * blocks.count), piece / blocks.count % heads, blocks[piece % blocks.count])
            let row = block.queries.lowerBound, first = block.keys.lowerBound
            let target = output + start(b, h, heads, queries, valueWidth, layout.interleavesOutput) + row * outStride
            if block.keys.isEmpty {
                for index in 0..<block.queries.count { (target + index * outStride).update(repeating: 0, count: valueWidth) }
                return
            }
            var work = ck_attention()
            work.rows = block.queries.count
            work.keys = block.keys.count
            work.head_size = width
            work.value_size = valueWidth
            work.q = q + start(b, h, heads, queries, width, layout.interleavesQuery) + row * qStride
            work.q_stride = qStride
            work.k = k + start(b, h / group, sharedHeads, keys, width, layout.interleavesKey) + first * kStride
            work.k_stride = kStride
            work.v = v + start(b, h / group, sharedHeads, keys, valueWidth, layout.interleavesValue) + first * vStride
            work.v_stride = vStride
            if let mask, let added {
                work.mask = added + b * mask.strides.batch + h * mask.strides.head + row * mask.strides.query + first
                work.mask_stride = mask.strides.query
            }
            work.scale = op.scale
            work.causal = op.isCausal
            work.causal_offset = (sequences == nil ? keys - queries : 0) + row - first
            work.empty_rows_are_zero = op.emptyRowsAreZero
            work.out = target
            work.out_stride = outStride
            ck_attention_f32(&work, (memory.scratch + maskBytes + worker * workerBytes).assumingMemoryBound(to: Float.self))
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
