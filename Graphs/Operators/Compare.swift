import GraphIR
import Tensors

/// Elementwise comparisons of two operands of one type, with numpy broadcasting; the output is bool. NaN compares unequal to all.
public struct Compare: OperatorFamily {
    public enum Kind: String, Sendable, Hashable, Codable, CaseIterable {
        case equal, not_equal, less, less_equal, greater, greater_equal
    }
    public let kind: Kind
    public init(_ kind: Kind) { self.kind = kind }

    public static let name = "compare"
    public static let arity = 2...2

    public func inferTypes(_ operands: Operands) throws -> [TensorType] {
        try operands.requireSameType(0..<2)
        return [TensorType(.bool, try broadcast(operands.type(0).dims, operands.type(1).dims))]
    }

    public func inferValues(_ operands: Operands) throws -> [SymbolicTensor?] {
        guard let a = operands.value(0), let b = operands.value(1), let shape = try? Shape.broadcast(a.shape, b.shape) else { return [] }
        return [SymbolicTensor.combining(a, b, shape: shape) { x, y in
            let known: Bool?
            switch kind {
            case .equal: known = Dim.areEqual(x, y)
            case .not_equal: known = Dim.areEqual(x, y).map { !$0 }
            default:
                guard let p = x.fixedValue, let q = y.fixedValue else { return nil }
                switch kind {
                case .less: known = p < q
                case .less_equal: known = p <= q
                case .greater: known = p > q
                default: known = p >= q
                }
            }
            return known.map { .fixed($0 ? 1 : 0) }
        }]
    }
}

extension Compare {
    public func evaluate(_ inputs: Inputs) throws -> [Tensor] {
        let shape = try output(for: inputs).shape
        let (a, b) = (try inputs[0], try inputs[1])
        switch a.dtype {
        case .f64: return [try compare(Double.self, a, b, shape)]
        case .f32, .f16, .bf16: return [try compare(Float.self, a, b, shape)]
        case .u64: return [try compare(UInt64.self, a, b, shape)]
        default: return [try compare(Int64.self, a, b, shape)]
        }
    }

    private func compare<T: ComputeNumber>(_ type: T.Type, _ a: Tensor, _ b: Tensor, _ shape: [Int]) throws -> Tensor {
        func map(_ body: (T, T) -> Bool) throws -> Tensor {
            try Tensor(dtype: .bool, shape: shape) { bytes in
                let out = bytes.bindMemory(to: UInt8.self)
                try T.read(a) { x in
                    try T.read(b) { y in
                        broadcastPairs(x, a.shape, y, b.shape, to: shape, into: out) { body($0, $1) ? 1 : 0 }
                    }
                }
            }
        }
        switch kind {
        case .equal: return try map { $0 == $1 }
        case .not_equal: return try map { $0 != $1 }
        case .less: return try map { $0 < $1 }
        case .less_equal: return try map { $0 <= $1 }
        case .greater: return try map { $0 > $1 }
        case .greater_equal: return try map { $0 >= $1 }
        }
    }
}
