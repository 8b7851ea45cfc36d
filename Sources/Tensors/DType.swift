/// The type of one element.
///
/// Raw values are the names in graph text; `safetensorsName` is the spelling of the safetensors format.
public enum DType: String, Sendable, Hashable, Codable, CaseIterable {
    case f64, f32, f16, bf16
    case i64, i32, i16, i8
    case u64, u32, u16, u8
    case bool

    /// Bytes per element; also its alignment.
    public var size: Int {
        switch self {
        case .f64, .i64, .u64: return 8
        case .f32, .i32, .u32: return 4
        case .f16, .bf16, .i16, .u16: return 2
        case .i8, .u8, .bool: return 1
        }
    }

    public var isFloat: Bool {
        switch self {
        case .f64, .f32, .f16, .bf16: return true
        default: return false
        }
    }

    /// Signed or unsigned integer; `bool` is none.
    public var isInteger: Bool { !isFloat && self != .bool }

    public var isUnsigned: Bool {
        switch self {
        case .u64, .u32, .u16, .u8: return true
        default: return false
        }
    }

    public var safetensorsName: String {
        switch self {
        case .bf16: return "BF16"
        case .bool: return "BOOL"
        default: return rawValue.uppercased()
        }
    }

    public init?(safetensorsName: String) {
        guard let match = Self.allCases.first(where: { $0.safetensorsName == safetensorsName }) else { return nil }
        self = match
    }
}
