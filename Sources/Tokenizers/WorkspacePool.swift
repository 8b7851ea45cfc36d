import Foundation

/// Lends workspaces to threads; as many exist as there were calls at the same time.
final class WorkspacePool: @unchecked Sendable {
    private let lock = NSLock()
    private var idle: [ModelWorkspace] = []

    func use<Result>(_ body: (ModelWorkspace) throws -> Result) rethrows -> Result {
        lock.lock()
        let workspace = idle.popLast() ?? ModelWorkspace()
        lock.unlock()
        defer {
            lock.lock()
            idle.append(workspace)
            lock.unlock()
        }
        return try body(workspace)
    }
}
