import Tensors

extension DType {
    /// The least and greatest value of an integer type other than u64, whose greatest `Int64` does not hold: there the range is that of `Int64`.
    var integerRange: (lowest: Int64, highest: Int64) {
        switch self {
        case .i8: return (Int64(Int8.min), Int64(Int8.max))
        case .i16: return (Int64(Int16.min), Int64(Int16.max))
        case .i32: return (Int64(Int32.min), Int64(Int32.max))
        case .u8: return (0, Int64(UInt8.max))
        case .u16: return (0, Int64(UInt16.max))
        case .u32: return (0, Int64(UInt32.max))
        case .u64: return (0, .max)
        case .bool: return (0, 1)
        case .i64, .f64, .f32, .f16, .bf16, .q8_0, .q4_0, .q4_1, .q5_0, .q5_1, .q4_k, .q5_k, .q6_k: return (.min, .max)
        }
    }
}
