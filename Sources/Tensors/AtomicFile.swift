#if canImport(Glibc)
import Glibc
#elseif canImport(Musl)
import Musl
#elseif canImport(Darwin)
import Darwin
#endif
import Foundation
import Synchronization

/// A file that appears under its name complete or not at all: written under a temporary name in the same folder, flushed to
/// the disk, then renamed.
public struct AtomicFile: ~Copyable {
    private let descriptor: Int32
    private let path: String

    /// Temporary files that are being written.
    private static let unfinished = Mutex<Set<String>>([])

    /// Removes what is half-written: for a process that is about to end on a signal.
    public static func removeUnfinished() {
        unfinished.withLock { paths in
            for path in paths { unlink(path) }
            paths.removeAll()
        }
    }

    /// Calls `body` to write the file, which then takes the place of any file at `url`. Nothing is left when `body` throws.
    ///
    /// - Throws: `FileError` naming the path, or what `body` throws.
    public static func write(to url: URL, _ body: (borrowing AtomicFile) throws -> Void) throws {
        let path = url.path
        var status = stat()
        if stat(path, &status) == 0, status.st_mode & S_IFMT != S_IFREG {
            let isFolder = status.st_mode & S_IFMT == S_IFDIR
            throw FileError(path: path, reason: isFolder ? "is a folder, not a file" : "is not a regular file")
        }
        let folder = url.deletingLastPathComponent().path
        let (descriptor, temporary) = try create(in: folder, for: path, name: url.lastPathComponent)
        unfinished.withLock { _ = $0.insert(temporary) }
        defer { unfinished.withLock { _ = $0.remove(temporary) } }
        var isOpen = true
        do {
            try body(AtomicFile(descriptor: descriptor, path: path))
            guard fsync(descriptor) == 0 else { throw Self.error(path) }
            isOpen = false
            guard close(descriptor) == 0 else { throw Self.error(path) }
            guard rename(temporary, path) == 0 else { throw Self.error(path) }
        } catch {
            if isOpen { close(descriptor) }
            unlink(temporary)
            throw error
        }
    }

    /// Appends bytes.
    public func write(_ bytes: UnsafeRawBufferPointer) throws {
        var rest = bytes
        while let base = rest.baseAddress, !rest.isEmpty {
            #if canImport(Darwin)
            let count = Darwin.write(descriptor, base, min(rest.count, 1 << 30))
            #elseif canImport(Musl)
            let count = Musl.write(descriptor, base, min(rest.count, 1 << 30))
            #else
            let count = Glibc.write(descriptor, base, min(rest.count, 1 << 30))
            #endif
            if count < 0 {
                if errno == EINTR { continue }
                throw Self.error(path)
            }
            rest = UnsafeRawBufferPointer(rebasing: rest.dropFirst(count))
        }
    }

    public func write(_ bytes: [UInt8]) throws { try bytes.withUnsafeBytes { try write($0) } }

    /// `open` with mode 0666, not mkstemp, so that the umask decides who may read the result.
    private static func create(in folder: String, for path: String, name: String) throws -> (Int32, String) {
        var attempts = 0
        while true {
            let suffix = String(UInt64.random(in: 0 ... .max), radix: 36)
            let temporary = "\(folder)/.\(name.utf8.count > 200 ? "mlgraph" : name).\(suffix).tmp"
            let descriptor = open(temporary, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0o666)
            if descriptor >= 0 { return (descriptor, temporary) }
            attempts += 1
            guard errno == EEXIST, attempts < 16 else { throw error(path) }
        }
    }

    private static func error(_ path: String) -> FileError {
        let code = errno
        return FileError(path: path, reason: "cannot be written: \(String(cString: strerror(code)).lowercased())")
    }
}
