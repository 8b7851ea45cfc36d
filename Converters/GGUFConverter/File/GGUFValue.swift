/// The value of a metadata key.
public enum GGUFValue: Sendable {
    case unsigned(UInt64)
    case signed(Int64)
    case float(Double)
    case bool(Bool)
    case string(String)
    case array(GGUFArray)

    /// An integer of any width that fits.
    public var intValue: Int? {
        switch self {
        case .unsigned(let value): return Int(exactly: value)
        case .signed(let value): return Int(value)
        default: return nil
        }
    }

    /// A float, or an integer as one.
    public var doubleValue: Double? {
        switch self {
        case .float(let value): return value
        case .unsigned(let value): return Double(value)
        case .signed(let value): return Double(value)
        default: return nil
        }
    }

    public var boolValue: Bool? {
        if case .bool(let value) = self { return value }
        return nil
    }

    public var stringValue: String? {
        if case .string(let value) = self { return value }
        return nil
    }

    public var arrayValue: GGUFArray? {
        if case .array(let value) = self { return value }
        return nil
    }

    /// What kind of value this is, for error messages.
    public var kindName: String {
        switch self {
        case .unsigned, .signed: return "an integer"
        case .float: return "a float"
        case .bool: return "a boolean"
        case .string: return "a string"
        case .array(let array): return "an array of \(array.elementType.pluralName)"
        }
    }
}

/// The type code of a metadata value.
public enum GGUFValueType: UInt32, Sendable {
    case u8 = 0, i8, u16, i16, u32, i32, f32, bool, string, array, u64, i64, f64

    /// nil for strings and arrays.
    var byteCount: Int? {
        switch self {
        case .u8, .i8, .bool: return 1
        case .u16, .i16: return 2
        case .u32, .i32, .f32: return 4
        case .u64, .i64, .f64: return 8
        case .string, .array: return nil
        }
    }

    var pluralName: String {
        switch self {
        case .u8, .i8, .u16, .i16, .u32, .i32, .u64, .i64: return "integers"
        case .f32, .f64: return "floats"
        case .bool: return "booleans"
        case .string: return "strings"
        case .array: return "arrays"
        }
    }
}
