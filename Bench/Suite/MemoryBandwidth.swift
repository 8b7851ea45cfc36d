import Foundation
import Synchronization

/// How fast memory can be read: the bound of everything that touches each weight once, as decoding does.
public enum MemoryBandwidth {
    /// Bytes per second of the best of five sweeps over a buffer much larger than the caches, which the threads share.
    public static func read(threads: Int, bytes: Int = 1 << 29) -> Double {
        let threads = max(threads, 1)
        let count = bytes / MemoryLayout<Block>.stride
        guard count >= threads else { return 0 }
        let buffer = UnsafeMutablePointer<Block>.allocate(capacity: count)
        defer { buffer.deallocate() }
        // Written, so that every page is there.
        buffer.initialize(repeating: Block(repeating: 1), count: count)
        let shared = Shared(base: buffer)
        let clock = ContinuousClock()
        var best = Double.infinity
        let total = Atomic<UInt64>(0)
        for _ in 0..<5 {
            let start = clock.now
            DispatchQueue.concurrentPerform(iterations: threads) { index in
                let sum = shared.sum(count * index / threads..<count * (index + 1) / threads)
                total.wrappingAdd(sum, ordering: .relaxed)
            }
            best = min(best, start.duration(to: clock.now).seconds)
        }
        // The sum is used, so that it must be computed.
        guard total.load(ordering: .relaxed) > 0, best > 0 else { return 0 }
        return Double(count * MemoryLayout<Block>.stride) / best
    }

    /// A cache line.
    private typealias Block = SIMD8<UInt64>

    /// Only read while the threads run.
    private struct Shared: @unchecked Sendable {
        let base: UnsafeMutablePointer<Block>

        /// Four streams far apart: memory serves several faster than one.
        func sum(_ range: Range<Int>) -> UInt64 {
            let quarter = range.count / 4
            let starts = (base + range.lowerBound, base + range.lowerBound + quarter, base + range.lowerBound + 2 * quarter, base + range.lowerBound + 3 * quarter)
            var sums = (Block(), Block(), Block(), Block())
            var index = 0
            while index + 2 <= quarter {
                sums.0 &+= starts.0[index] &+ starts.0[index + 1]
                sums.1 &+= starts.1[index] &+ starts.1[index + 1]
                sums.2 &+= starts.2[index] &+ starts.2[index + 1]
                sums.3 &+= starts.3[index] &+ starts.3[index + 1]
                index += 2
            }
            return (sums.0 &+ sums.1 &+ sums.2 &+ sums.3).wrappedSum()
        }
    }
}
