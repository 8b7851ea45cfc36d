import Foundation
import Tensors

/// A block of memory, aligned to cache lines.
///
/// `@unchecked Sendable`: one run at a time has it (`ArenaPool`), and its kernels write disjoint parts.
final class Arena: @unchecked Sendable {
    let base: UnsafeMutableRawPointer
    let byteCount: Int

    /// - Throws: `RuntimeError` when the system has no such memory.
    init(byteCount: Int) throws {
        base = try Arena.allocate(byteCount).base
        self.byteCount = byteCount
    }

    deinit { base.deallocate() }

    /// Memory that `Storage(adopting:)` can take over. Unlike Swift's own allocation this reports failure.
    static func allocate(_ byteCount: Int) throws -> (base: UnsafeMutableRawPointer, bytes: UnsafeMutableRawBufferPointer) {
        var pointer: UnsafeMutableRawPointer?
        guard posix_memalign(&pointer, Storage.alignment, max(byteCount, 1)) == 0, let pointer else {
            throw RuntimeError(.outOfMemory, "the system has no \(byteCount) bytes of memory for this run; use smaller inputs")
        }
        return (pointer, UnsafeMutableRawBufferPointer(start: pointer, count: byteCount))
    }
}

/// Keeps a few arenas between runs: as many as have run at once, up to a bound.
final class ArenaPool: Sendable {
    private static let capacity = 8
    private let free = Locked<[Arena]>([])

    /// Lends an arena of at least `byteCount` bytes.
    func with<Result>(byteCount: Int, _ body: (Arena) throws -> Result) throws -> Result {
        let kept = free.withLock { arenas -> Arena? in
            // The smallest that fits; else the largest makes room for a new one.
            if let fit = arenas.indices.filter({ arenas[$0].byteCount >= byteCount }).min(by: { arenas[$0].byteCount < arenas[$1].byteCount }) {
                return arenas.remove(at: fit)
            }
            if let largest = arenas.indices.max(by: { arenas[$0].byteCount < arenas[$1].byteCount }) { arenas.remove(at: largest) }
            return nil
        }
        let arena = try kept ?? Arena(byteCount: byteCount)
        defer { free.withLock { if $0.count < Self.capacity { $0.append(arena) } } }
        return try body(arena)
    }
}
