import Foundation

/// A value behind a lock. (Synchronization.Mutex needs a newer macOS than the package.)
///
/// `@unchecked Sendable`: `value` is touched only with the lock held.
final class Locked<Value>: @unchecked Sendable {
    private var value: Value
    private let lock = NSLock()

    init(_ value: Value) { self.value = value }

    func withLock<Result>(_ body: (inout Value) throws -> Result) rethrows -> Result {
        lock.lock()
        defer { lock.unlock() }
        return try body(&value)
    }
}
