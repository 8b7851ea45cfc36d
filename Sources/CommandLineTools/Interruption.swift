import Dispatch
import Synchronization

#if canImport(Glibc)
import Glibc
#elseif canImport(Musl)
import Musl
#elseif canImport(Darwin)
import Darwin
#endif

/// Ctrl-C and SIGTERM: runs what was registered (removing temporary files) and ends the process with the usual status.
public enum Interruption {
    /// - Parameter cleanup: Runs on a thread of its own, not in signal context.
    public static func install(_ cleanup: @escaping @Sendable () -> Void = {}) {
        for number in [SIGINT, SIGTERM, SIGHUP] {
            // A shell that started the process in the background lets it ignore these.
            guard unsafeBitCast(signal(number, SIG_IGN), to: Int.self) != unsafeBitCast(SIG_IGN, to: Int.self) else { continue }
            let source = DispatchSource.makeSignalSource(signal: number, queue: .global(qos: .userInteractive))
            source.setEventHandler {
                cleanup()
                _exit(128 + number)
            }
            source.resume()
            retained.withLock { $0.append(Retained(source)) }
        }
    }

    /// Keeps the sources alive for the life of the process.
    private static let retained = Mutex<[Retained]>([])
    private final class Retained: @unchecked Sendable {
        let source: any DispatchSourceSignal
        init(_ source: any DispatchSourceSignal) { self.source = source }
    }
}
