/// Reading a tensor's elements as one Swift type, and making tensors from Swift arrays.
extension Tensor {
    /// The elements as `Float`; f64 and integers are rounded, bools are 0 and 1, blocks are dequantised.
    public func floats() -> [Float] {
        withUnsafeBytes { bytes in
            [Float](unsafeUninitializedCapacity: count) { out, initialized in
                switch dtype {
                case .f32: Self.read(bytes, Float.self, count) { out[$0] = $1 }
                case .f64: Self.read(bytes, Double.self, count) { out[$0] = Float($1) }
                case .f16: Self.read(bytes, UInt16.self, count) { out[$0] = HalfPrecision.float(fromF16: $1) }
                case .bf16: Self.read(bytes, UInt16.self, count) { out[$0] = HalfPrecision.float(fromBF16: $1) }
                case .i64: Self.read(bytes, Int64.self, count) { out[$0] = Float($1) }
                case .i32: Self.read(bytes, Int32.self, count) { out[$0] = Float($1) }
                case .i16: Self.read(bytes, Int16.self, count) { out[$0] = Float($1) }
                case .i8: Self.read(bytes, Int8.self, count) { out[$0] = Float($1) }
                case .u64: Self.read(bytes, UInt64.self, count) { out[$0] = Float($1) }
                case .u32: Self.read(bytes, UInt32.self, count) { out[$0] = Float($1) }
                case .u16: Self.read(bytes, UInt16.self, count) { out[$0] = Float($1) }
                case .u8: Self.read(bytes, UInt8.self, count) { out[$0] = Float($1) }
                case .bool: Self.read(bytes, UInt8.self, count) { out[$0] = $1 != 0 ? 1 : 0 }
                case .q8_0, .q4_0, .q4_1, .q5_0, .q5_1, .q4_k, .q5_k, .q6_k: BlockFormat.dequantize(dtype, bytes, count, into: out)
                }
                initialized = count
            }
        }
    }

    /// The elements as `Double`; exact for every type but i64 and u64 beyond 2^53.
    public func doubles() -> [Double] {
        switch dtype {
        case .f64:
            return withUnsafeBytes { bytes in
                [Double](unsafeUninitializedCapacity: count) { out, initialized in
                    Self.read(bytes, Double.self, count) { out[$0] = $1 }
                    initialized = count
                }
            }
        case .i64, .i32, .u32: return integers().map { Double($0) }
        case .u64: return integers().map { Double(UInt64(bitPattern: $0)) }
        default: return floats().map { Double($0) }
        }
    }

    /// The elements as 64-bit integers. Floats are truncated toward zero, saturating, NaN as 0; u64 keeps its bits.
    public func integers() -> [Int64] {
        if dtype.isBlock { return floats().map { Self.saturating(Double($0)) } }
        return withUnsafeBytes { bytes in
            [Int64](unsafeUninitializedCapacity: count) { out, initialized in
                switch dtype {
                case .i64: Self.read(bytes, Int64.self, count) { out[$0] = $1 }
                case .i32: Self.read(bytes, Int32.self, count) { out[$0] = Int64($1) }
                case .i16: Self.read(bytes, Int16.self, count) { out[$0] = Int64($1) }
                case .i8: Self.read(bytes, Int8.self, count) { out[$0] = Int64($1) }
                case .u64: Self.read(bytes, UInt64.self, count) { out[$0] = Int64(bitPattern: $1) }
                case .u32: Self.read(bytes, UInt32.self, count) { out[$0] = Int64($1) }
                case .u16: Self.read(bytes, UInt16.self, count) { out[$0] = Int64($1) }
                case .u8: Self.read(bytes, UInt8.self, count) { out[$0] = Int64($1) }
                case .bool: Self.read(bytes, UInt8.self, count) { out[$0] = $1 != 0 ? 1 : 0 }
                case .f64: Self.read(bytes, Double.self, count) { out[$0] = Self.saturating($1) }
                case .f32: Self.read(bytes, Float.self, count) { out[$0] = Self.saturating(Double($1)) }
                case .f16: Self.read(bytes, UInt16.self, count) { out[$0] = Self.saturating(Double(HalfPrecision.float(fromF16: $1))) }
                case .bf16: Self.read(bytes, UInt16.self, count) { out[$0] = Self.saturating(Double(HalfPrecision.float(fromBF16: $1))) }
                case .q8_0, .q4_0, .q4_1, .q5_0, .q5_1, .q4_k, .q5_k, .q6_k: break
                }
                initialized = count
            }
        }
    }

    /// Truncation toward zero that never traps.
    public static func saturating(_ value: Double) -> Int64 {
        if value.isNaN { return 0 }
        if value >= 0x1p63 { return .max }
        if value < -0x1p63 { return .min }
        return Int64(value)
    }

    private static func read<Element: BitwiseCopyable>(
        _ bytes: UnsafeRawBufferPointer, _ type: Element.Type, _ count: Int, _ body: (Int, Element) -> Void
    ) {
        let elements = UnsafeBufferPointer(start: bytes.baseAddress?.assumingMemoryBound(to: Element.self), count: count)
        for index in 0..<count { body(index, elements[index]) }
    }

    /// A tensor of `dtype` from floats: rounded to nearest even for the 16-bit floats, truncated and saturated to 64 bits and then
    /// wrapped for integers, nonzero for bool, quantised as `quantized(to:)` does for blocks.
    public init(floats values: [Float], dtype: DType = .f32, shape: [Int]) throws {
        switch dtype {
        case .f32: try self.init(elements: values, dtype: dtype, shape: shape)
        case .f64: try self.init(elements: values.map(Double.init), dtype: dtype, shape: shape)
        case .f16: try self.init(elements: values.map(HalfPrecision.f16(from:)), dtype: dtype, shape: shape)
        case .bf16: try self.init(elements: values.map(HalfPrecision.bf16(from:)), dtype: dtype, shape: shape)
        case .bool: try self.init(elements: values.map { $0 != 0 ? UInt8(1) : 0 }, dtype: dtype, shape: shape)
        case .q8_0, .q4_0, .q4_1, .q5_0, .q5_1, .q4_k, .q5_k, .q6_k:
            guard try Shape.count(shape) == values.count else {
                throw TensorError("\(values.count) elements do not fill the shape \(shape)")
            }
            try self.init(dtype: dtype, shape: shape) { try BlockFormat.quantize(values, to: dtype, into: $0) }
        case .i64, .i32, .i16, .i8, .u64, .u32, .u16, .u8: try self.init(integers: values.map { Self.saturating(Double($0)) }, dtype: dtype, shape: shape)
        }
    }

    /// A tensor of `dtype` from doubles, as `init(floats:)`.
    public init(doubles values: [Double], dtype: DType = .f64, shape: [Int]) throws {
        switch dtype {
        case .f64: try self.init(elements: values, dtype: dtype, shape: shape)
        case .bool: try self.init(elements: values.map { $0 != 0 ? UInt8(1) : 0 }, dtype: dtype, shape: shape)
        case .f32, .f16, .bf16, .q8_0, .q4_0, .q4_1, .q5_0, .q5_1, .q4_k, .q5_k, .q6_k:
            try self.init(floats: values.map { Float($0) }, dtype: dtype, shape: shape)
        case .i64, .i32, .i16, .i8, .u64, .u32, .u16, .u8: try self.init(integers: values.map(Self.saturating), dtype: dtype, shape: shape)
        }
    }

    /// A tensor of `dtype` from integers: wrapped to the width of an integer type, rounded for floats, nonzero for bool.
    public init(integers values: [Int64], dtype: DType = .i64, shape: [Int]) throws {
        switch dtype {
        case .i64: try self.init(elements: values, dtype: dtype, shape: shape)
        case .i32: try self.init(elements: values.map(Int32.init(truncatingIfNeeded:)), dtype: dtype, shape: shape)
        case .i16: try self.init(elements: values.map(Int16.init(truncatingIfNeeded:)), dtype: dtype, shape: shape)
        case .i8: try self.init(elements: values.map(Int8.init(truncatingIfNeeded:)), dtype: dtype, shape: shape)
        case .u64: try self.init(elements: values.map(UInt64.init(bitPattern:)), dtype: dtype, shape: shape)
        case .u32: try self.init(elements: values.map(UInt32.init(truncatingIfNeeded:)), dtype: dtype, shape: shape)
        case .u16: try self.init(elements: values.map(UInt16.init(truncatingIfNeeded:)), dtype: dtype, shape: shape)
        case .u8: try self.init(elements: values.map(UInt8.init(truncatingIfNeeded:)), dtype: dtype, shape: shape)
        case .bool: try self.init(elements: values.map { $0 != 0 ? UInt8(1) : 0 }, dtype: dtype, shape: shape)
        case .f64: try self.init(elements: values.map { Double($0) }, dtype: dtype, shape: shape)
        case .f32: try self.init(elements: values.map { Float($0) }, dtype: dtype, shape: shape)
        case .f16, .bf16, .q8_0, .q4_0, .q4_1, .q5_0, .q5_1, .q4_k, .q5_k, .q6_k:
            try self.init(floats: values.map { Float($0) }, dtype: dtype, shape: shape)
        }
    }

    public init(bools values: [Bool], shape: [Int]) throws {
        try self.init(elements: values.map { $0 ? UInt8(1) : 0 }, dtype: .bool, shape: shape)
    }

    /// A tensor from elements that already have the layout of `dtype`.
    public init<Element: BitwiseCopyable>(elements: [Element], dtype: DType, shape: [Int]) throws {
        guard !dtype.isBlock, MemoryLayout<Element>.size == dtype.size else {
            throw TensorError("elements of type \(Element.self) stored as \(dtype.rawValue)")
        }
        guard try Shape.count(shape) == elements.count else {
            throw TensorError("\(elements.count) elements do not fill the shape \(shape)")
        }
        try self.init(dtype: dtype, shape: shape) { target in
            elements.withUnsafeBytes { target.copyMemory(from: $0) }
        }
    }

    /// The same values in another type, with the rules of the initialisers above. Float to integer truncates toward zero.
    public func converted(to target: DType) throws -> Tensor {
        if target == dtype { return self }
        if target.isBlock { return try quantized(to: target) }
        if dtype == .f64 { return try Tensor(doubles: doubles(), dtype: target, shape: shape) }
        if dtype == .u64, target.isFloat { return try Tensor(doubles: doubles(), dtype: target, shape: shape) }
        if dtype.isFloat || dtype.isBlock { return try Tensor(floats: floats(), dtype: target, shape: shape) }
        return try Tensor(integers: integers(), dtype: target, shape: shape)
    }
}
