import CKernels
import GraphIR
import Operators
import Tensors

/// Attention over the run's key-value cache in f32, in pieces of some queries of the heads that share a key head. Without a cache it
/// reads keys and values from the operands.
struct CachedAttentionKernel: Kernel {
    private let op: CachedAttention
    private let batch: Int
    private let sequence: Int
    private let heads: Int
    private let sharedHeads: Int
    private let width: Int
    private let valueWidth: Int

    /// From that many queries on keys are packed and scores computed as matrix products.
    private static let productQueries = 16
    private static let queryBlock = 64

    init?(_ op: CachedAttention, _ request: KernelRequest) {
        guard let q = request.operand(0), let k = request.operand(1), let v = request.operand(2), let output = request.outputs.first,
            [q, k, v, output].allSatisfy({ $0.dtype == .f32 && $0.rank == 4 })
        else { return nil }
        self.op = op
        (batch, sequence, heads, width) = (q.shape[0], q.shape[1], q.shape[2], q.shape[3])
        (sharedHeads, valueWidth) = (k.shape[2], v.shape[3])
        guard k.shape == [batch, sequence, sharedHeads, width], v.shape == [batch, sequence, sharedHeads, valueWidth],
            output.shape == [batch, sequence, heads, valueWidth], sharedHeads > 0, heads % sharedHeads == 0,
            request.operand(3) == nil || request.operand(3)?.shape == [batch, sequence]
        else { return nil }
    }

    var name: String { "cached attention \(batch) x \(heads) x \(sequence)" }

    /// The positions that the largest run may have; the cache of a run is not known before.
    private func positions(_ cache: KeyValueCache?) -> Int { sequence + (cache?.length ?? 0) }

    private var usesProducts: Bool { sequence >= Self.productQueries }

    func run(_ memory: KernelMemory) throws {
        guard batch > 0, sequence > 0 else { return }
        let q = try memory.input(0, as: Float.self)
        let k = try memory.input(1, as: Float.self)
        let v = try memory.input(2, as: Float.self)
        let mask = memory.optional(3, as: Int64.self)
        let output = memory.output(as: Float.self)
        let cache = memory.cache
        if let cache {
            cache.storeMask(mask)
            append(k, v, to: cache)
        }
        let positions = positions(cache)
        let past = positions - sequence
        let scratchFloats = usesProducts
            ? ck_attention_scratch(positions, width, valueWidth) : ck_cached_attention_scratch(positions)
        guard scratchFloats > 0 else { throw OperatorError(.unsupported, "\(positions) positions are too many") }
        let added = cache == nil ? mask.map(addedMask) : nil
        defer { added?.deallocate() }
        let group = heads / sharedHeads
        // Products work on one head; the other kernel on a key head and all its queries.
        let headPieces = usesProducts ? heads : sharedHeads
        let blocks = (sequence + Self.queryBlock - 1) / Self.queryBlock
        let pieces = batch * headPieces * blocks
        let workers = max(1, min(memory.threads, pieces))
        // A step of a generation finds its memory in the cache.
        let own = usesProducts || cache == nil ? try Arena(byteCount: workers * scratchFloats * MemoryLayout<Float>.size) : nil
        let scratch = try own?.base ?? cache?.scratch(byteCount: workers * scratchFloats * MemoryLayout<Float>.size) ?? memory.scratch
        defer { withExtendedLifetime(own) {} }
        WorkerPool.parallelFor(threads: memory.threads, count: pieces) { piece, worker in
            let (b, head, block) = (piece / (headPieces * blocks), piece / blocks % headPieces, piece % blocks)
            let first = block * Self.queryBlock
            let keyHead = usesProducts ? head / group : head
            let queryHead = usesProducts ? head : head * group
            let source = Source(
                keys: cache.map { UnsafePointer($0.keys(op.slot, row: b, head: keyHead)) } ?? k + (b * sequence * sharedHeads + keyHead) * width,
                keyStride: cache == nil ? sharedHeads * width : width,
                values: cache.map { UnsafePointer($0.values(op.slot, row: b, head: keyHead)) }
                    ?? v + (b * sequence * sharedHeads + keyHead) * valueWidth,
                valueStride: cache == nil ? sharedHeads * valueWidth : valueWidth,
                mask: cache.map { $0.mask(b) } ?? added.map { UnsafePointer($0 + b * sequence) })
            let query = q + ((b * sequence + first) * heads + queryHead) * width
            let target = output + ((b * sequence + first) * heads + queryHead) * valueWidth
            let count = min(Self.queryBlock, sequence - first)
            let space = (scratch + worker * scratchFloats * MemoryLayout<Float>.size).assumingMemoryBound(to: Float.self)
            if usesProducts {
                multiply(query, source, target, queries: count, past: past + first, space)
            } else {
                attend(query, source, target, queries: count, past: past + first, space)
            }
        }
    }

    /// Where the keys and values of one head lie.
    private struct Source {
        let keys: UnsafePointer<Float>
        let keyStride: Int
        let values: UnsafePointer<Float>
        let valueStride: Int
        let mask: UnsafePointer<Float>?
    }

    private func attend(
        _ q: UnsafePointer<Float>, _ source: Source, _ output: UnsafeMutablePointer<Float>, queries: Int, past: Int,
        _ scratch: UnsafeMutablePointer<Float>
    ) {
        var work = ck_cached_attention()
        work.queries = queries
        work.heads = heads / sharedHeads
        work.past = past
        work.head_size = width
        work.value_size = valueWidth
        work.q = q
        work.q_stride = heads * width
        work.q_head_stride = width
        work.k = source.keys
        work.k_stride = source.keyStride
        work.v = source.values
        work.v_stride = source.valueStride
        work.mask = source.mask
        work.scale = op.scale
        work.softcap = op.softcap
        work.window = op.window
        work.out = output
        work.out_stride = heads * valueWidth
        work.out_head_stride = valueWidth
        ck_cached_attention_f32(&work, scratch)
    }

    private func multiply(
        _ q: UnsafePointer<Float>, _ source: Source, _ output: UnsafeMutablePointer<Float>, queries: Int, past: Int,
        _ scratch: UnsafeMutablePointer<Float>
    ) {
        var work = ck_attention()
        work.rows = queries
        work.keys = past + queries
        work.head_size = width
        work.value_size = valueWidth
        work.q = q
        work.q_stride = heads * width
        work.k = source.keys
        work.k_stride = source.keyStride
        work.v = source.values
        work.v_stride = source.valueStride
        work.mask = source.mask
        work.mask_stride = 0
        work.scale = op.scale
        work.causal = true
        work.causal_offset = past
        work.window = op.window
        work.softcap = op.softcap
        work.empty_rows_are_zero = true
        work.out = output
        work.out_stride = heads * valueWidth
        ck_attention_f32(&work, scratch)
    }

    private func append(_ k: UnsafePointer<Float>, _ v: UnsafePointer<Float>, to cache: KeyValueCache) {
        for row in 0..<batch {
            for head in 0..<sharedHeads {
                let keys = cache.keys(op.slot, row: row, head: head) + cache.length * width
                let values = cache.values(op.slot, row: row, head: head) + cache.length * valueWidth
                for index in 0..<sequence {
                    let token = (row * sequence + index) * sharedHeads + head
                    (keys + index * width).update(from: k + token * width, count: width)
                    (values + index * valueWidth).update(from: v + token * valueWidth, count: valueWidth)
                }
            }
        }
    }

    /// The added form of the mask for a run without a cache.
    private func addedMask(_ mask: UnsafePointer<Int64>) -> UnsafeMutablePointer<Float> {
        let added = UnsafeMutablePointer<Float>.allocate(capacity: max(batch * sequence, 1))
        for index in 0..<batch * sequence { added[index] = mask[index] != 0 ? 0 : -.infinity }
        return added
    }
}
