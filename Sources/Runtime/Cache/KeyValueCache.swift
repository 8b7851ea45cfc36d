import Foundation
import Tensors

/// The keys and values that the attention layers of a causal language model have computed for some sequences, so that a run needs to
/// compute only the new tokens. `Executor.makeCache` makes one; each sequence (or batch of sequences) has its own.
///
/// Memory is reserved for the whole capacity and taken from the system as positions fill up.
///
/// `@unchecked Sendable`: one run at a time uses it, which `begin` enforces; between runs it is changed by its owner alone.
public final class KeyValueCache: @unchecked Sendable {
    /// Sequences.
    public let batch: Int
    /// The most positions that fit, padding included.
    public let capacity: Int
    /// Positions filled.
    public private(set) var length = 0

    let layout: CacheLayout
    private let bytesPerPosition: Int
    private let memory: UnsafeMutablePointer<Float>
    /// Where the keys and the values of each slot begin, `[batch, heads, capacity, width]` each.
    private let offsets: [(keys: Int, values: Int)]
    /// Added to attention scores: 0 for a real token, minus infinity for padding; `[batch, capacity]`.
    private let masks: UnsafeMutablePointer<Float>
    /// Real tokens and whether there is padding, by sequence.
    private var rows: [Row]

    private struct Row {
        var realTokens = 0
        var isPadded = false
    }

    /// The new tokens of the run that goes on, nil between runs.
    private var pending: Pending?
    private var arena: Arena?
    private let isRunning = Locked(false)

    private struct Pending {
        let tokens: Int
        var isMaskStored = false
    }

    /// - Throws: `RuntimeError` where the capacity is beyond the memory limit or the system's memory.
    init(_ layout: CacheLayout, batch: Int, capacity: Int, memoryBytes: Int) throws {
        guard batch > 0, capacity > 0 else { throw RuntimeError(.wrongShape, "a key-value cache needs at least one sequence and one position") }
        let (positions, overflow) = batch.multipliedReportingOverflow(by: capacity)
        bytesPerPosition = try layout.bytesPerPosition()
        // Keys, values and the mask.
        let (all, allOverflow) = bytesPerPosition.addingReportingOverflow(MemoryLayout<Float>.size)
        let (bytes, tooLarge) = positions.multipliedReportingOverflow(by: all)
        guard !overflow, !allOverflow, !tooLarge, bytes <= memoryBytes else {
            throw RuntimeError(
                .outOfMemory, "a key-value cache for \(batch) x \(capacity) positions is beyond the memory limit of \(memoryBytes) bytes; "
                    + "use a smaller context")
        }
        // calloc hands out untouched pages, which cost nothing until they are written.
        guard let memory = calloc(bytes, 1) else {
            throw RuntimeError(.outOfMemory, "the system has no \(bytes) bytes for a key-value cache; use a smaller context")
        }
        self.layout = layout
        self.batch = batch
        self.capacity = capacity
        self.memory = memory.bindMemory(to: Float.self, capacity: bytes / MemoryLayout<Float>.size)
        var offset = 0
        offsets = layout.slots.map { slot in
            let keys = offset
            let values = keys + positions * slot.heads * slot.keyWidth
            offset = values + positions * slot.heads * slot.valueWidth
            return (keys, values)
        }
        masks = self.memory + offset
        rows = Array(repeating: Row(), count: batch)
    }

    deinit { free(memory) }

    /// Bytes that the positions filled so far take.
    public var byteCount: Int { batch * length * bytesPerPosition }

    /// Positions left.
    public var room: Int { capacity - length }

    /// Forgets everything from position `length` on; nothing where it is shorter already.
    public func truncate(to length: Int) {
        let length = max(0, min(length, self.length))
        self.length = length
        for row in rows.indices {
            guard rows[row].isPadded else {
                rows[row].realTokens = length
                continue
            }
            let real = (0..<length).count { masks[row * capacity + $0] == 0 }
            rows[row] = Row(realTokens: real, isPadded: real < length)
        }
    }

    // MARK: During a run

    /// Starts a run that appends `tokens` positions to each sequence.
    ///
    /// - Throws: `RuntimeError` where they do not fit or another run goes on.
    func begin(batch: Int, tokens: Int) throws {
        guard batch == self.batch else {
            throw RuntimeError(.wrongShape, "the inputs are \(batch) sequences, the key-value cache is for \(self.batch)")
        }
        guard tokens <= room else {
            throw RuntimeError(
                .contextFull, "\(tokens) tokens do not fit behind the \(length) in a context of \(capacity); shorten the text or use a larger context")
        }
        guard isRunning.withLock({ running in
            defer { running = true }
            return !running
        }) else { throw RuntimeError(.invalidNode, "a key-value cache serves one run at a time; another one goes on") }
        pending = Pending(tokens: tokens)
    }

    /// Ends the run; its tokens count from now on if it succeeded.
    func end(succeeded: Bool) {
        if succeeded, let pending {
            for row in rows.indices {
                var real = pending.tokens
                if pending.isMaskStored {
                    real = (0..<pending.tokens).count { masks[row * capacity + length + $0] == 0 }
                }
                rows[row].realTokens += real
                if real < pending.tokens { rows[row].isPadded = true }
            }
            length += pending.tokens
        } else {
            truncate(to: length)
        }
        pending = nil
        isRunning.withLock { $0 = false }
    }

    /// Notes which new tokens are real, `[batch, tokens]`, nil for all. Every node that uses the cache calls it, with the same mask.
    func storeMask(_ mask: UnsafePointer<Int64>?) {
        guard let tokens = pending?.tokens, pending?.isMaskStored == false else { return }
        for row in 0..<batch {
            let target = masks + row * capacity + length
            for index in 0..<tokens {
                let isReal = mask.map { $0[row * tokens + index] != 0 } ?? true
                target[index] = isReal ? 0 : -.infinity
                if !isReal { rows[row].isPadded = true }
            }
        }
        pending?.isMaskStored = true
    }

    /// Memory for one kernel at a time.
    ///
    /// - Throws: `RuntimeError` when the system has no such memory.
    func scratch(byteCount: Int) throws -> UnsafeMutableRawPointer {
        if let arena, arena.byteCount >= byteCount { return arena.base }
        // Twice as much, so that a growing sequence seldom asks again.
        let larger = try Arena(byteCount: byteCount.addingReportingOverflow(byteCount).partialValue)
        arena = larger
        return larger.base
    }

    /// Real tokens before the run.
    func realTokens(_ row: Int) -> Int { rows[row].realTokens }

    /// The row of the mask for a sequence; nil where it has no padding.
    func mask(_ row: Int) -> UnsafePointer<Float>? { rows[row].isPadded ? UnsafePointer(masks + row * capacity) : nil }

    /// `[capacity, width]` of one head.
    func keys(_ slot: Int, row: Int, head: Int) -> UnsafeMutablePointer<Float> {
        memory + offsets[slot].keys + (row * layout.slots[slot].heads + head) * capacity * layout.slots[slot].keyWidth
    }

    func values(_ slot: Int, row: Int, head: Int) -> UnsafeMutablePointer<Float> {
        memory + offsets[slot].values + (row * layout.slots[slot].heads + head) * capacity * layout.slots[slot].valueWidth
    }
}
