import Tensors

/// Reads a GGUF file front to back; nothing is read beyond its end.
struct GGUFCursor {
    let storage: Storage
    let path: String
    private(set) var position: Int

    init(_ storage: Storage, path: String, at position: Int = 0) {
        self.storage = storage
        self.path = path
        self.position = position
    }

    var remaining: Int { storage.bytes.count - position }

    func fail(_ reason: String, at offset: Int? = nil) -> GGUFError {
        GGUFError(path: path, place: .byte(offset ?? position), reason: reason)
    }

    mutating func integer<Value: FixedWidthInteger>(_ what: String, as type: Value.Type = Value.self) throws -> Value {
        let size = MemoryLayout<Value>.size
        guard remaining >= size else { throw fail("the file ends within \(what): it is cut off or damaged") }
        defer { position += size }
        return Value(littleEndian: storage.withUnsafeBytes { $0.loadUnaligned(fromByteOffset: position, as: Value.self) })
    }

    /// A 64-bit count of things that take at least `size` bytes each.
    mutating func count(of what: String, size: Int) throws -> Int {
        let start = position
        let field = try integer("the number of \(what)", as: UInt64.self)
        guard let count = Int(exactly: field), count <= remaining / size else {
            throw fail("\(field) \(what) do not fit in the \(remaining) bytes that follow: the file is cut off or damaged", at: start)
        }
        return count
    }

    mutating func skip(_ count: Int) { position += min(max(count, 0), remaining) }

    /// A length of 64 bits, and where as many bytes lie.
    mutating func bytes(_ what: String) throws -> Range<Int> {
        let length = try count(of: "bytes of \(what)", size: 1)
        defer { position += length }
        return position..<position + length
    }

    /// A length of 64 bits and as many bytes of UTF-8.
    mutating func string(_ what: String) throws -> String {
        let start = position
        let bytes = try bytes(what)
        guard let text = storage.withUnsafeBytes({ String(validating: $0[bytes], as: UTF8.self) }) else {
            throw fail("\(what) is not valid UTF-8", at: start)
        }
        return text
    }

    mutating func value(_ type: GGUFValueType, _ what: String) throws -> GGUFValue {
        switch type {
        case .u8: return .unsigned(UInt64(try integer(what, as: UInt8.self)))
        case .u16: return .unsigned(UInt64(try integer(what, as: UInt16.self)))
        case .u32: return .unsigned(UInt64(try integer(what, as: UInt32.self)))
        case .u64: return .unsigned(try integer(what))
        case .i8: return .signed(Int64(try integer(what, as: Int8.self)))
        case .i16: return .signed(Int64(try integer(what, as: Int16.self)))
        case .i32: return .signed(Int64(try integer(what, as: Int32.self)))
        case .i64: return .signed(try integer(what))
        case .f32: return .float(Double(Float(bitPattern: try integer(what))))
        case .f64: return .float(Double(bitPattern: try integer(what)))
        case .bool:
            let start = position
            let byte = try integer(what, as: UInt8.self)
            guard byte <= 1 else { throw fail("\(what) is the boolean \(byte), expected 0 or 1", at: start) }
            return .bool(byte == 1)
        case .string: return .string(try string(what))
        case .array: return .array(try array(what))
        }
    }

    mutating func valueType(of what: String) throws -> GGUFValueType {
        let start = position
        let code = try integer("the type of \(what)", as: UInt32.self)
        guard let type = GGUFValueType(rawValue: code) else {
            throw fail("\(what) has the unknown type \(code), known are 0 to \(GGUFValueType.f64.rawValue)", at: start)
        }
        return type
    }

    /// An array stays where it is; its extent is checked.
    ///
    /// - Parameter depth: How many arrays it may lie in.
    mutating func array(_ what: String, depth: Int = 0) throws -> GGUFArray {
        guard depth < 4 else { throw fail("\(what) has arrays within arrays, more than 4 deep") }
        let type = try valueType(of: "an element of \(what)")
        // The shortest string is its length, the shortest array its type and length.
        let count = try count(of: "elements of \(what)", size: type.byteCount ?? (type == .string ? 8 : 12))
        let start = position
        switch type {
        case .string: for _ in 0..<count { _ = try bytes(what) }
        case .array: for _ in 0..<count { _ = try array(what, depth: depth + 1) }
        default: skip(count * (type.byteCount ?? 0))
        }
        return GGUFArray(elementType: type, count: count, storage: storage, path: path, start: start)
    }
}
