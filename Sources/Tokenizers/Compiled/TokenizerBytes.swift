/// Memory with a compiled tokenizer, and what keeps it alive. A mapped file is used in place, without a copy.
public struct TokenizerBytes: @unchecked Sendable {
    let buffer: UnsafeRawBufferPointer
    let owner: any AnyObject & Sendable

    /// Uses `buffer` in place. It must not change, and must stay valid as long as `owner` lives.
    public init(_ buffer: UnsafeRawBufferPointer, owner: any AnyObject & Sendable) {
        self.buffer = buffer
        self.owner = owner
    }

    /// Copies `bytes`.
    public init(_ bytes: [UInt8]) {
        let storage = Storage(bytes)
        self.init(UnsafeRawBufferPointer(storage.buffer), owner: storage)
    }

    private final class Storage: @unchecked Sendable {
        let buffer: UnsafeMutableRawBufferPointer

        init(_ bytes: [UInt8]) {
            buffer = .allocate(byteCount: max(bytes.count, 1), alignment: 64)
            buffer.copyBytes(from: bytes)
        }

        deinit { buffer.deallocate() }
    }
}

/// A bounds-checked, read-only part of a compiled tokenizer. Numbers are little-endian.
struct ByteView: @unchecked Sendable {
    private let base: UnsafeRawPointer
    let count: Int
    private let owner: any AnyObject & Sendable

    /// A part of `bytes`, nil when the range lies outside.
    init?(_ bytes: TokenizerBytes, offset: Int, count: Int) {
        guard offset >= 0, count >= 0, offset <= bytes.buffer.count, count <= bytes.buffer.count - offset,
            let base = bytes.buffer.baseAddress
        else { return nil }
        self.base = base + offset
        self.count = count
        owner = bytes.owner
    }

    private init(base: UnsafeRawPointer, count: Int, owner: any AnyObject & Sendable) {
        self.base = base
        self.count = count
        self.owner = owner
    }

    /// A part of this view, nil when the range lies outside.
    func part(offset: Int, count length: Int) -> ByteView? {
        guard offset >= 0, length >= 0, offset <= count, length <= count - offset else { return nil }
        return ByteView(base: base + offset, count: length, owner: owner)
    }

    init?(copying bytes: [UInt8]) {
        self.init(TokenizerBytes(bytes), offset: 0, count: bytes.count)
    }

    /// The 32-bit number at `index`, 0 outside.
    @inline(__always)
    func uint32(_ index: Int) -> UInt32 {
        guard index >= 0, index < count / 4 else { return 0 }
        return UInt32(littleEndian: base.loadUnaligned(fromByteOffset: index * 4, as: UInt32.self))
    }

    /// The 64-bit number at `index`, 0 outside.
    @inline(__always)
    func uint64(_ index: Int) -> UInt64 {
        guard index >= 0, index < count / 8 else { return 0 }
        return UInt64(littleEndian: base.loadUnaligned(fromByteOffset: index * 8, as: UInt64.self))
    }

    /// A range of bytes, nil when it lies outside. The pointer is valid as long as this view is.
    @inline(__always)
    func bytes(offset: Int, count length: Int) -> UnsafeBufferPointer<UInt8>? {
        guard offset >= 0, length >= 0, offset <= count, length <= count - offset else { return nil }
        return UnsafeBufferPointer(start: (base + offset).assumingMemoryBound(to: UInt8.self), count: length)
    }

    var array: [UInt8] { bytes(offset: 0, count: count).map(Array.init) ?? [] }
}
