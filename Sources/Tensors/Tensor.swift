import Foundation

/// An immutable dense array: element type, shape (outermost dimension first, row-major) and bytes.
///
/// The bytes may lie in a mapped file; copying a tensor copies a reference. They are aligned to `dtype.alignment`. Of a block type the last
/// dimension is a whole number of blocks, and the shape counts elements.
public struct Tensor: Sendable {
    public let dtype: DType
    public let shape: [Int]
    /// Number of elements.
    public let count: Int
    public let byteCount: Int
    private let storage: Storage
    private let offset: Int

    public var rank: Int { shape.count }

    /// A view of `storage` from `offset` on; copied where the bytes are not aligned to `dtype.alignment`.
    ///
    /// - Throws: `TensorError` when the shape overflows or the bytes end before the tensor does.
    public init(dtype: DType, shape: [Int], storage: Storage, offset: Int = 0) throws {
        let count = try Shape.count(shape)
        let size = try Shape.byteCount(shape, dtype)
        guard offset >= 0, offset <= storage.bytes.count, size <= storage.bytes.count - offset else {
            throw TensorError("a tensor of type \(dtype.rawValue) and shape \(shape) does not fit its \(storage.bytes.count) bytes")
        }
        self.dtype = dtype
        self.shape = shape
        self.count = count
        byteCount = size
        if let base = storage.bytes.baseAddress, Int(bitPattern: base + offset) % dtype.alignment != 0 {
            self.storage = Storage(byteCount: size) { target in
                target.copyMemory(from: UnsafeRawBufferPointer(rebasing: storage.bytes[offset..<offset + size]))
            }
            self.offset = 0
        } else {
            self.storage = storage
            self.offset = offset
        }
    }

    /// A tensor whose bytes `fill` writes; they are not zeroed before.
    public init(dtype: DType, shape: [Int], fill: (UnsafeMutableRawBufferPointer) throws -> Void) throws {
        let count = try Shape.count(shape)
        let size = try Shape.byteCount(shape, dtype)
        guard size <= 1 << 46 else { throw TensorError("shape \(shape) is too large for memory") }
        self.dtype = dtype
        self.shape = shape
        self.count = count
        byteCount = size
        self.storage = try Storage(byteCount: size, fill: fill)
        self.offset = 0
    }

    /// The same bytes under another shape of the same element count.
    public func reshaped(_ shape: [Int]) throws -> Tensor {
        guard try Shape.count(shape) == count else {
            throw TensorError("a tensor of shape \(self.shape) cannot take the shape \(shape)")
        }
        return try Tensor(dtype: dtype, shape: shape, storage: storage, offset: offset)
    }

    /// The blocks of a block type as `u8`, the last dimension counting bytes; any other tensor as it is.
    public func blocksAsBytes() throws -> Tensor {
        guard dtype.isBlock, let last = shape.last, let rowBytes = dtype.byteCount(forElements: last) else { return self }
        return try Tensor(dtype: .u8, shape: shape.dropLast() + [rowBytes], storage: storage, offset: offset)
    }

    /// The bytes of a `u8` tensor as blocks of `dtype`: what `blocksAsBytes` came from.
    ///
    /// - Throws: `TensorError` where the last dimension is no whole number of blocks.
    public func bytesAsBlocks(_ dtype: DType) throws -> Tensor {
        guard self.dtype == .u8, dtype.isBlock, let last = shape.last, last % dtype.blockBytes == 0 else {
            throw TensorError("a tensor of type \(self.dtype.rawValue) and shape \(shape) holds no blocks of type \(dtype.rawValue)")
        }
        let elements = last / dtype.blockBytes * dtype.blockElements
        return try Tensor(dtype: dtype, shape: shape.dropLast() + [elements], storage: storage, offset: offset)
    }

    public func withUnsafeBytes<Result>(_ body: (UnsafeRawBufferPointer) throws -> Result) rethrows -> Result {
        defer { withExtendedLifetime(storage) {} }
        return try body(UnsafeRawBufferPointer(rebasing: storage.bytes[offset..<offset + byteCount]))
    }

    /// The elements as `Element`, which must have the layout of `dtype`: `Float` for f32, `UInt16` for f16 and bf16, `Int64`
    /// for i64, `UInt8` for bool and u8, and so on.
    ///
    /// - Throws: `TensorError` when the sizes differ.
    public func withElements<Element: BitwiseCopyable, Result>(
        of type: Element.Type, _ body: (UnsafeBufferPointer<Element>) throws -> Result
    ) throws -> Result {
        guard !dtype.isBlock, MemoryLayout<Element>.size == dtype.size else {
            throw TensorError("elements of type \(dtype.rawValue) read as \(Element.self)")
        }
        return try withUnsafeBytes { bytes in
            try body(UnsafeBufferPointer(start: bytes.baseAddress?.assumingMemoryBound(to: Element.self), count: count))
        }
    }

    /// The memory, for callers that keep `self` alive while they use it.
    public var unsafePointer: UnsafeRawPointer? { storage.bytes.baseAddress.map { $0 + offset } }

    /// Equal type, shape and bytes (so NaNs of equal bits are equal, and 0.0 is not -0.0).
    public static func identical(_ a: Tensor, _ b: Tensor) -> Bool {
        guard a.dtype == b.dtype, a.shape == b.shape else { return false }
        return a.withUnsafeBytes { x in
            b.withUnsafeBytes { y in
                guard let p = x.baseAddress, let q = y.baseAddress, p != q else { return true }
                return memcmp(p, q, x.count) == 0
            }
        }
    }
}
