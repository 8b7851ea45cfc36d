/// The type of one element, or the format of the blocks that elements are quantised in.
///
/// Raw values are the names in graph text; `safetensorsName` is the spelling of the safetensors format.
public enum DType: String, Sendable, Hashable, Codable, CaseIterable {
    case f64, f32, f16, bf16
    case i64, i32, i16, i8
    case u64, u32, u16, u8
    case bool
    /// Blocks of GGML, as GGUF files have them: so many elements along the last dimension share a scale, and with `_1` and `_k` an offset.
    /// Blocks of `_k` hold smaller groups with quantised scales of their own.
    case q8_0, q4_0, q4_1, q5_0, q5_1, q4_k, q5_k, q6_k

    /// Elements are quantised in blocks along the last dimension; such a tensor has no elements that stand alone.
    public var isBlock: Bool { blockElements > 1 }

    /// Elements per block; 1 for element types.
    public var blockElements: Int {
        switch self {
        case .q8_0, .q4_0, .q4_1, .q5_0, .q5_1: return 32
        case .q4_k, .q5_k, .q6_k: return 256
        default: return 1
        }
    }

    /// Bytes per block; of an element type, bytes per element.
    public var blockBytes: Int {
        switch self {
        case .f64, .i64, .u64: return 8
        case .f32, .i32, .u32: return 4
        case .f16, .bf16, .i16, .u16: return 2
        case .i8, .u8, .bool: return 1
        case .q8_0: return 34
        case .q4_0: return 18
        case .q4_1: return 20
        case .q5_0: return 22
        case .q5_1: return 24
        case .q4_k: return 144
        case .q5_k: return 176
        case .q6_k: return 210
        }
    }

    /// Bytes per element. Block types have no such number, for them it is `blockBytes`, which no element type has; use
    /// `byteCount(forElements:)` wherever one may come.
    public var size: Int { blockBytes }

    /// What a tensor's address is a multiple of.
    public var alignment: Int { isBlock ? 2 : blockBytes }

    /// Bytes of so many elements; nil where they are no whole number of blocks, or too many.
    public func byteCount(forElements count: Int) -> Int? {
        guard count >= 0, count % blockElements == 0 else { return nil }
        let (bytes, overflow) = (count / blockElements).multipliedReportingOverflow(by: blockBytes)
        return overflow ? nil : bytes
    }

    /// Blocks hold floats, but are no float type: arithmetic takes elements.
    public var isFloat: Bool {
        switch self {
        case .f64, .f32, .f16, .bf16: return true
        default: return false
        }
    }

    /// Signed or unsigned integer; `bool` and blocks are none.
    public var isInteger: Bool {
        switch self {
        case .i64, .i32, .i16, .i8, .u64, .u32, .u16, .u8: return true
        default: return false
        }
    }

    public var isUnsigned: Bool {
        switch self {
        case .u64, .u32, .u16, .u8: return true
        default: return false
        }
    }

    /// nil for blocks, which the format has no name for; they are stored as `U8`.
    public var safetensorsName: String? {
        switch self {
        case .bf16: return "BF16"
        case .bool: return "BOOL"
        default: return isBlock ? nil : rawValue.uppercased()
        }
    }

    public init?(safetensorsName: String) {
        guard let match = Self.allCases.first(where: { $0.safetensorsName == safetensorsName }) else { return nil }
        self = match
    }
}
