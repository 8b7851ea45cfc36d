import Tensors

/// The type code of a tensor (`ggml_type`).
public struct GGUFTensorType: Sendable, Hashable, CustomStringConvertible {
    public let code: UInt32

    private static let known: [(code: UInt32, name: String, dtype: DType?)] = [
        (0, "F32", .f32), (1, "F16", .f16), (2, "Q4_0", .q4_0), (3, "Q4_1", .q4_1), (6, "Q5_0", .q5_0), (7, "Q5_1", .q5_1), (8, "Q8_0", .q8_0),
        (9, "Q8_1", nil), (10, "Q2_K", nil), (11, "Q3_K", nil), (12, "Q4_K", .q4_k), (13, "Q5_K", .q5_k), (14, "Q6_K", .q6_k), (15, "Q8_K", nil),
        (16, "IQ2_XXS", nil), (17, "IQ2_XS", nil), (18, "IQ3_XXS", nil), (19, "IQ1_S", nil), (20, "IQ4_NL", nil), (21, "IQ3_S", nil),
        (22, "IQ2_S", nil), (23, "IQ4_XS", nil), (24, "I8", .i8), (25, "I16", .i16), (26, "I32", .i32), (27, "I64", .i64), (28, "F64", .f64),
        (29, "IQ1_M", nil), (30, "BF16", .bf16), (34, "TQ1_0", nil), (35, "TQ2_0", nil), (39, "MXFP4", nil),
    ]

    /// nil for a type that this toolkit does not read.
    public var dtype: DType? { Self.known.first { $0.code == code }?.dtype }

    public var description: String { Self.known.first { $0.code == code }?.name ?? "type \(code)" }

    /// The names of the types that are read.
    static var readable: String { known.filter { $0.dtype != nil }.map(\.name).joined(separator: ", ") }
}
