import Foundation
import Synchronization

/// Runs long synchronous work away from the caller's executor. Cancelling the task makes `isCancelled` true, which the work
/// looks at between batches; it then throws `CancellationError`.
func asynchronously<Result: Sendable>(
    _ work: @escaping @Sendable (_ isCancelled: @Sendable () -> Bool) throws -> Result
) async throws -> Result {
    let flag = CancellationFlag()
    return try await withTaskCancellationHandler {
        try await withCheckedThrowingContinuation { continuation in
            DispatchQueue.global().async {
                continuation.resume(with: Swift.Result { try work { flag.isSet } })
            }
        }
    } onCancel: {
        flag.set()
    }
}

private final class CancellationFlag: Sendable {
    private let value = Atomic<Bool>(false)
    var isSet: Bool { value.load(ordering: .relaxed) }
    func set() { value.store(true, ordering: .relaxed) }
}
