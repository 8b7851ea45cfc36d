#if canImport(Glibc)
import Glibc
#elseif canImport(Musl)
import Musl
#elseif canImport(Darwin)
import Darwin
#endif
import Synchronization

/// Standard output that cannot be written.
public enum OutputError: Error, Sendable, Hashable, CustomStringConvertible {
    /// The reader has gone away.
    case closed
    case failed(String)

    public var description: String {
        switch self {
        case .closed: return "standard output was closed"
        case .failed(let reason): return "cannot write to standard output: \(reason)"
        }
    }
}

/// Where results go: buffered, every error seen (a full disk behind a redirect is a failure, not silence).
public enum StandardOutput {
    private static let buffer = Mutex<[UInt8]>([])

    public static func write(_ text: String) throws { try write(bytes: text.utf8) }

    public static func write(bytes: some Sequence<UInt8>) throws {
        let isFull = buffer.withLock { buffer in
            buffer.append(contentsOf: bytes)
            return buffer.count >= 1 << 16
        }
        if isFull { try flush() }
    }

    /// Hands everything to the system; call it when a reader may be waiting for an answer.
    public static func flush() throws {
        try buffer.withLock { buffer in
            defer { buffer.removeAll(keepingCapacity: true) }
            try buffer.withUnsafeBytes { try writeAll($0, to: STDOUT_FILENO) }
        }
    }

    private static func writeAll(_ bytes: UnsafeRawBufferPointer, to descriptor: Int32) throws {
        var rest = bytes
        while let base = rest.baseAddress, rest.count > 0 {
            #if canImport(Darwin)
            let written = Darwin.write(descriptor, base, rest.count)
            #elseif canImport(Musl)
            let written = Musl.write(descriptor, base, rest.count)
            #else
            let written = Glibc.write(descriptor, base, rest.count)
            #endif
            if written < 0 {
                if errno == EINTR { continue }
                throw errno == EPIPE ? OutputError.closed : OutputError.failed(String(cString: strerror(errno)).lowercased())
            }
            rest = UnsafeRawBufferPointer(rebasing: rest[written...])
        }
    }
}

/// Where everything but results goes.
public enum StandardError {
    /// True when a person is looking.
    public static var isTerminal: Bool { isatty(STDERR_FILENO) == 1 }

    /// Nothing can be said where stderr itself fails.
    public static func write(_ text: String) {
        var bytes = Array(text.utf8)[...]
        while !bytes.isEmpty {
            let written = bytes.withUnsafeBytes { buffer in
                #if canImport(Darwin)
                Darwin.write(STDERR_FILENO, buffer.baseAddress, buffer.count)
                #elseif canImport(Musl)
                Musl.write(STDERR_FILENO, buffer.baseAddress, buffer.count)
                #else
                Glibc.write(STDERR_FILENO, buffer.baseAddress, buffer.count)
                #endif
            }
            if written < 0 {
                if errno == EINTR { continue }
                return
            }
            bytes = bytes.dropFirst(written)
        }
    }
}

/// Lines of a file descriptor as valid UTF-8, one at a time.
public struct LineReader: Sendable {
    /// A line longer than that is an error, not an out-of-memory.
    public static let maximumLineBytes = 64 << 20

    private let descriptor: Int32
    private let source: String
    private var buffer: [UInt8] = []
    private var position = 0
    private var lineNumber = 0
    private var isAtEnd = false

    /// - Parameter source: What error messages call the input.
    public init(descriptor: Int32 = STDIN_FILENO, source: String = "standard input") {
        self.descriptor = descriptor
        self.source = source
    }

    /// True when the next line can be read without waiting for more input.
    public var hasBufferedLine: Bool { buffer[position...].contains(0x0A) }

    /// The next line without its end (`\n` or `\r\n`); nil at the end of the input.
    ///
    /// - Throws: `CommandError` naming the line for invalid UTF-8, a line that is too long, or a read that fails.
    public mutating func next() throws -> String? {
        var searchFrom = position
        while true {
            if let end = buffer[searchFrom...].firstIndex(of: 0x0A) {
                let line = buffer[position..<end]
                position = end + 1
                return try decode(line)
            }
            if isAtEnd {
                guard position < buffer.count else { return nil }
                let line = buffer[position...]
                position = buffer.count
                return try decode(line)
            }
            searchFrom = buffer.count - position
            buffer.removeSubrange(..<position)
            position = 0
            guard buffer.count <= Self.maximumLineBytes else {
                throw CommandError("line \(lineNumber + 1) of \(source) is longer than \(Self.maximumLineBytes >> 20) MiB")
            }
            try fill()
        }
    }

    private mutating func fill() throws {
        let chunk = 1 << 16
        let start = buffer.count
        buffer.append(contentsOf: repeatElement(0, count: chunk))
        var count = 0
        repeat {
            count = buffer.withUnsafeMutableBytes { read(descriptor, $0.baseAddress.map { $0 + start }, chunk) }
        } while count < 0 && errno == EINTR
        buffer.removeLast(chunk - max(count, 0))
        guard count >= 0 else { throw CommandError("cannot read \(source): \(String(cString: strerror(errno)).lowercased())") }
        if count == 0 { isAtEnd = true }
    }

    private mutating func decode(_ line: ArraySlice<UInt8>) throws -> String {
        lineNumber += 1
        let trimmed = line.last == 0x0D ? line.dropLast() : line
        guard let text = String(validating: trimmed, as: UTF8.self) else {
            throw CommandError("line \(lineNumber) of \(source) is not valid UTF-8; convert it first, for example with iconv")
        }
        return text
    }
}
