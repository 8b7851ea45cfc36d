import Tensors

/// The element type codes of the specification (TensorProto.DataType).
enum ElementType {
    private static let names = [
        "undefined", "float", "uint8", "int8", "uint16", "int16", "int32", "int64", "string", "bool", "float16", "double", "uint32",
        "uint64", "complex64", "complex128", "bfloat16", "float8e4m3fn", "float8e4m3fnuz", "float8e5m2", "float8e5m2fnuz", "uint4",
        "int4", "float4e2m1", "float8e8m0", "uint2", "int2",
    ]

    static func name(_ code: Int) -> String { names.indices.contains(code) ? names[code] : "number \(code)" }

    /// Element types of four bits, two per byte; in memory they become a byte each.
    static let uint4 = 21
    static let int4 = 22

    /// The graph's type for a code; nil where it has none.
    static func dtype(_ code: Int) -> DType? {
        switch code {
        case 1: return .f32
        case 2: return .u8
        case 3: return .i8
        case 4: return .u16
        case 5: return .i16
        case 6: return .i32
        case 7: return .i64
        case 9: return .bool
        case 10: return .f16
        case 11: return .f64
        case 12: return .u32
        case 13: return .u64
        case 16: return .bf16
        default: return nil
        }
    }
}
