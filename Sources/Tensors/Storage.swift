#if canImport(Glibc)
import Glibc
#elseif canImport(Musl)
import Musl
#elseif canImport(Darwin)
import Darwin
#endif
import Foundation

/// Bytes that do not change and outlive every tensor that points into them: heap memory or a mapped file.
///
/// `@unchecked Sendable`: the memory is written only before `init` returns.
public final class Storage: @unchecked Sendable {
    /// Valid as long as the storage lives, which a local variable alone does not ensure: use `withUnsafeBytes` unless something that
    /// outlives the pointer holds the storage.
    public let bytes: UnsafeRawBufferPointer
    private enum Owner { case heap(UnsafeMutableRawPointer), mapping, other(AnyObject?) }
    private let owner: Owner

    /// Data starts on a cache line, which every kernel is content with.
    public static let alignment = 64

    /// Fresh memory that `fill` writes. It is not zeroed before.
    public init(byteCount: Int, fill: (UnsafeMutableRawBufferPointer) throws -> Void) rethrows {
        let pointer = UnsafeMutableRawPointer.allocate(byteCount: max(byteCount, 1), alignment: Self.alignment)
        do {
            try fill(UnsafeMutableRawBufferPointer(start: pointer, count: byteCount))
        } catch {
            pointer.deallocate()
            throw error
        }
        bytes = UnsafeRawBufferPointer(start: pointer, count: byteCount)
        owner = .heap(pointer)
    }

    /// Memory of someone else, e.g. a part of an arena. The caller sees to it that the bytes stay unchanged as long as anything
    /// reads them; `keeping` is an object that must live for that.
    public init(viewing bytes: UnsafeRawBufferPointer, keeping owner: AnyObject? = nil) {
        self.bytes = bytes
        self.owner = .other(owner)
    }

    /// Takes over memory that was allocated with `UnsafeMutableRawPointer.allocate`, or `malloc` and its aligned kin, and is written.
    public init(adopting memory: UnsafeMutableRawBufferPointer) {
        bytes = UnsafeRawBufferPointer(memory)
        owner = memory.baseAddress.map { .heap($0) } ?? .other(nil)
    }

    /// Maps a file read-only.
    ///
    /// - Throws: `FileError` naming the path when it is missing, unreadable or no regular file.
    public init(mapping url: URL) throws {
        let path = url.path
        // Without O_NONBLOCK opening a named pipe would wait for its writer instead of failing below.
        let descriptor = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK)
        guard descriptor >= 0 else { throw FileError(path: path, reason: Self.reason(errno)) }
        defer { close(descriptor) }
        var status = stat()
        guard fstat(descriptor, &status) == 0 else { throw FileError(path: path, reason: Self.reason(errno)) }
        guard status.st_mode & S_IFMT == S_IFREG else {
            let isFolder = status.st_mode & S_IFMT == S_IFDIR
            throw FileError(path: path, reason: isFolder ? "is a folder, not a file" : "is not a regular file")
        }
        guard let count = Int(exactly: status.st_size) else { throw FileError(path: path, reason: "is too large") }
        if count == 0 {
            let pointer = UnsafeMutableRawPointer.allocate(byteCount: 1, alignment: Self.alignment)
            bytes = UnsafeRawBufferPointer(start: pointer, count: 0)
            owner = .heap(pointer)
            return
        }
        guard let pointer = mmap(nil, count, PROT_READ, MAP_PRIVATE, descriptor, 0), pointer != MAP_FAILED else {
            throw FileError(path: path, reason: Self.reason(errno))
        }
        bytes = UnsafeRawBufferPointer(start: pointer, count: count)
        owner = .mapping
    }

    /// Calls `body` with the bytes and keeps the storage alive meanwhile.
    public func withUnsafeBytes<Result>(_ body: (UnsafeRawBufferPointer) throws -> Result) rethrows -> Result {
        defer { withExtendedLifetime(self) {} }
        return try body(bytes)
    }

    private static func reason(_ code: Int32) -> String { String(cString: strerror(code)).lowercased() }

    deinit {
        switch owner {
        case .heap(let pointer): pointer.deallocate()
        case .other: break
        case .mapping: munmap(UnsafeMutableRawPointer(mutating: bytes.baseAddress), bytes.count)
        }
    }
}

/// A file that cannot be opened, read or written.
public struct FileError: Error, Sendable, Hashable, CustomStringConvertible {
    public let path: String
    public let reason: String

    public init(path: String, reason: String) {
        self.path = path
        self.reason = reason
    }

    public var description: String { "\(path): \(reason)" }
}
