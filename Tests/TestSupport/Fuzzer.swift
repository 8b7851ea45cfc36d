import Foundation

/// Feeds a reader damaged copies of valid files. A reader passes when it neither traps nor hangs; what it may throw, `body` says.
///
/// Short by default; the environment variable MLGRAPH_FUZZ_SECONDS sets how long each fuzz test runs.
public struct Fuzzer {
    private var random: SeededRandom
    private let samples: [[UInt8]]

    /// - Parameter samples: Valid files to start from; must not be empty.
    public init(samples: [[UInt8]], seed: UInt64 = 1) {
        self.samples = samples
        random = SeededRandom(seed: seed)
    }

    public static var seconds: Double {
        ProcessInfo.processInfo.environment["MLGRAPH_FUZZ_SECONDS"].flatMap(Double.init) ?? 0.5
    }

    /// Runs `body` on damaged inputs until the time is over.
    ///
    /// - Returns: How many inputs were tried; at least one.
    @discardableResult
    public mutating func run(_ body: ([UInt8]) throws -> Void) rethrows -> Int {
        let end = Date().addingTimeInterval(Self.seconds)
        var count = 0
        repeat {
            try body(mutant())
            count += 1
        } while Date() < end
        return count
    }

    /// A sample with one to eight injuries.
    public mutating func mutant() -> [UInt8] {
        var bytes = random.element(of: samples)
        for _ in 0..<(1 << random.int(0..<4)) { injure(&bytes) }
        return bytes
    }

    private static let numbers = [
        "0", "-1", "1", "2", "255", "65536", "2147483647", "2147483648", "4294967296", "9223372036854775807", "-9223372036854775808",
        "18446744073709551615", "1e999", "-0", "0.5",
    ].map { Array($0.utf8) }

    private static let words: [UInt64] = [
        0, 1, 7, 8, 0x7F, 0x80, 0xFF, 0xFFFF, 0x7FFF_FFFF, 0x8000_0000, .max, 1 << 63, (1 << 63) - 1,
    ]

    private mutating func injure(_ bytes: inout [UInt8]) {
        guard !bytes.isEmpty else {
            bytes = random.element(of: samples)
            return
        }
        let position = random.int(0..<bytes.count)
        let length = min(1 << random.int(0..<8), bytes.count - position)
        switch random.int(0..<10) {
        case 0: bytes[position] ^= 1 << UInt8(random.int(0..<8))
        case 1: bytes[position] = UInt8(truncatingIfNeeded: random.next())
        case 2: bytes.removeSubrange(position..<position + length)
        case 3: bytes.insert(contentsOf: Array(bytes[position..<position + length]), at: random.int(0..<bytes.count))
        case 4:
            for _ in 0..<length { bytes.insert(UInt8(truncatingIfNeeded: random.next()), at: position) }
        case 5: bytes.removeSubrange(position...)
        case 6:
            let other = random.element(of: samples)
            guard !other.isEmpty else { return }
            let start = random.int(0..<other.count)
            bytes.replaceSubrange(position..<position + length, with: other[start..<min(start + length, other.count)])
        case 7:
            // A number in a text becomes an extreme one.
            guard let first = bytes[position...].firstIndex(where: { $0 >= 0x30 && $0 <= 0x39 }) else { return }
            let last = bytes[first...].firstIndex { $0 < 0x30 || $0 > 0x39 } ?? bytes.count
            bytes.replaceSubrange(first..<last, with: random.element(of: Self.numbers))
        case 8:
            let word = random.element(of: Self.words)
            for index in 0..<min(8, bytes.count - position) { bytes[position + index] = UInt8(truncatingIfNeeded: word >> (8 * index)) }
        default: bytes.swapAt(position, random.int(0..<bytes.count))
        }
    }
}
