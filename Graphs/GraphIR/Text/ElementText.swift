import Tensors

/// The elements of a small constant as words that read back bit for bit: `-1`, `0.1`, `-inf`, `nan(0x7fc00000)`, `true`.
enum ElementText {
    /// Constants of more elements live outside the text, and so do blocks.
    static let maximumCount = 32

    /// Whether a constant stands in the text. A bool that is neither 0 nor 1 has no word.
    static func canWrite(_ tensor: Tensor) -> Bool {
        guard tensor.count <= maximumCount, !tensor.dtype.isBlock else { return false }
        return tensor.dtype != .bool || tensor.withUnsafeBytes { bytes in bytes.allSatisfy { $0 <= 1 } }
    }

    static func attribute(of tensor: Tensor) -> Attribute {
        let words = words(of: tensor).map { Attribute.bare($0) }
        return tensor.rank == 0 ? words.first ?? .list([]) : .list(words)
    }

    private static func words(of tensor: Tensor) -> [String] {
        tensor.withUnsafeBytes { bytes in
            func map<Element: BitwiseCopyable>(_ type: Element.Type, _ body: (Element) -> String) -> [String] {
                let size = MemoryLayout<Element>.size
                return (0..<tensor.count).map { body(bytes.loadUnaligned(fromByteOffset: $0 * size, as: type)) }
            }
            switch tensor.dtype {
            case .f64: return map(UInt64.self) { word(Double(bitPattern: $0), bits: $0) }
            case .f32: return map(UInt32.self) { word(Float(bitPattern: $0), bits: $0) }
            case .f16: return map(UInt16.self) { word(HalfPrecision.float(fromF16: $0), bits: $0) }
            case .bf16: return map(UInt16.self) { word(HalfPrecision.float(fromBF16: $0), bits: $0) }
            case .i64: return map(Int64.self, \.description)
            case .i32: return map(Int32.self, \.description)
            case .i16: return map(Int16.self, \.description)
            case .i8: return map(Int8.self, \.description)
            case .u64: return map(UInt64.self, \.description)
            case .u32: return map(UInt32.self, \.description)
            case .u16: return map(UInt16.self, \.description)
            case .u8: return map(UInt8.self, \.description)
            case .bool: return map(UInt8.self) { $0 == 0 ? "false" : "true" }
            case .q8_0, .q4_0, .q4_1, .q5_0, .q5_1, .q4_k, .q5_k, .q6_k: return []
            }
        }
    }

    /// Swift prints the shortest decimal that reads back as the same float.
    private static func word<Number: BinaryFloatingPoint & CustomStringConvertible>(
        _ value: Number, bits: some FixedWidthInteger
    ) -> String {
        value.isNaN ? "nan(0x\(String(bits, radix: 16)))" : value.description
    }

    /// - Throws: `AttributeError` for words that are no elements of the type, and for a count that does not fit the shape.
    static func tensor(_ attribute: Attribute, _ type: TensorType) throws -> Tensor {
        guard let shape = type.shape, let count = try? Shape.count(shape) else {
            throw AttributeError("a constant of the type \(type), which is not fixed")
        }
        let items: [Attribute]
        if case .list(let list) = attribute, !shape.isEmpty { items = list } else { items = [attribute] }
        guard items.count == count else { throw AttributeError("\(items.count) elements for a constant of type \(type)") }
        func read<Element: BitwiseCopyable>(_ body: (String) -> Element?) throws -> Tensor {
            let elements = try items.map { item in
                guard case .bare(let word) = item, let element = body(word) else {
                    throw AttributeError("'\(item.text.prefix(40))' is not an element of type \(type.dtype.rawValue)")
                }
                return element
            }
            return try Tensor(elements: elements, dtype: type.dtype, shape: shape)
        }
        switch type.dtype {
        case .f64: return try read { bits($0, { Double(bitPattern: $0) }) { $0.bitPattern } }
        case .f32: return try read { bits($0, { Float(bitPattern: $0) }) { $0.bitPattern } }
        case .f16: return try read { bits($0, HalfPrecision.float(fromF16:), HalfPrecision.f16(from:)) }
        case .bf16: return try read { bits($0, HalfPrecision.float(fromBF16:), HalfPrecision.bf16(from:)) }
        case .i64: return try read { Int64($0) }
        case .i32: return try read { Int32($0) }
        case .i16: return try read { Int16($0) }
        case .i8: return try read { Int8($0) }
        case .u64: return try read { UInt64($0) }
        case .u32: return try read { UInt32($0) }
        case .u16: return try read { UInt16($0) }
        case .u8: return try read { UInt8($0) }
        case .bool: return try read { $0 == "true" ? UInt8(1) : $0 == "false" ? 0 : nil }
        case .q8_0, .q4_0, .q4_1, .q5_0, .q5_1, .q4_k, .q5_k, .q6_k:
            throw AttributeError("a constant of the type \(type), whose blocks have no text")
        }
    }

    /// The bits that a word stands for; nil where it is no number. A decimal too large for the type is none.
    private static func bits<Number: BinaryFloatingPoint & LosslessStringConvertible, Bits: FixedWidthInteger>(
        _ word: String, _ number: (Bits) -> Number, _ bits: (Number) -> Bits
    ) -> Bits? {
        if word.hasPrefix("nan(0x"), word.hasSuffix(")") {
            guard let payload = Bits(word.dropFirst(6).dropLast(), radix: 16), number(payload).isNaN else { return nil }
            return payload
        }
        if word == "inf" { return bits(.infinity) }
        if word == "-inf" { return bits(-.infinity) }
        guard let value = Number(word), value.isFinite, number(bits(value)).isFinite else { return nil }
        return bits(value)
    }
}
