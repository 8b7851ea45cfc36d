import Tensors

/// Stored forms of the weights of dense layers and embedding tables; arithmetic takes f32 operands with all of them.
public enum WeightStorage: String, Sendable, Hashable, CaseIterable {
    case f16, bf16
    /// 8-bit integers, symmetric, with one scale per output channel or embedding row.
    case int8
    /// Blocks of 32 along the rows, with 8 bits an element, or 4 for all but embedding tables, which then have 8.
    case q8_0, q4_0, q4_1
    /// Blocks of 256 with 4 bits an element; rows of another length are stored as q4_1, embedding tables as q8_0.
    case q4_k

    var dtype: DType {
        switch self {
        case .f16: return .f16
        case .bf16: return .bf16
        case .int8: return .i8
        case .q8_0: return .q8_0
        case .q4_0: return .q4_0
        case .q4_1: return .q4_1
        case .q4_k: return .q4_k
        }
    }

    /// What a weight is stored as; nil where its rows are no whole number of blocks.
    ///
    /// - Parameters:
    ///   - width: Elements of a row.
    ///   - isTable: Rows are looked up in it. Each is one token's whole signal, which 4 bits would coarsen more than a product's many terms.
    func storedType(width: Int, isTable: Bool) -> DType? {
        let wanted: DType = dtype.isBlock && isTable ? .q8_0 : dtype
        return [wanted, wanted == .q4_k ? .q4_1 : wanted].first { width % $0.blockElements == 0 }
    }
}

/// What storing weights in another form did to them.
public struct WeightStorageReport: Sendable, Hashable {
    public struct Entry: Sendable, Hashable {
        /// The constant's name before.
        public let name: String
        public let dtype: DType
        public let elements: Int
        /// The root of the squared difference's sum, relative to that of the weights.
        public let relativeError: Double
        /// The error of the layer's products, where calibration measured it.
        public var outputError: Double?
        /// Inputs are divided by factors that the weight was multiplied with.
        public var isSmoothed = false
    }
    public internal(set) var entries: [Entry] = []
    /// Weights that stay as they are, and why.
    public internal(set) var skipped: [String] = []

    public init() {}
}
