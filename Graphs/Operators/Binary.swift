import GraphIR
import Tensors

/// Elementwise functions of two operands of one type, with numpy broadcasting.
public struct Binary: OperatorFamily {
    public enum Kind: String, Sendable, Hashable, Codable, CaseIterable {
        case add, sub, mul
        /// Of integers truncating toward zero; division by zero of integers is an error.
        case div
        /// Remainder with the sign of the divisor.
        case mod
        /// Remainder with the sign of the dividend, as C's fmod.
        case fmod
        /// The second operand may be of another number type.
        case pow
        /// NaN where either operand is.
        case min, max
        /// Of bool (logical) or integers (bitwise).
        case and, or, xor
    }
    public let kind: Kind
    public init(_ kind: Kind) { self.kind = kind }

    public static let name = "binary"
    public static let arity = 2...2

    public func inferTypes(_ operands: Operands) throws -> [TensorType] {
        let a = try operands.type(0)
        let b = try operands.type(1)
        if kind != .pow { try operands.requireSameType(0..<2) }
        switch kind {
        case .and, .or, .xor: try operands.require(0, { !$0.isFloat }, "bool or an integer")
        default:
            try operands.require(0, { $0 != .bool }, "a number")
            try operands.require(1, { $0 != .bool }, "a number")
        }
        return [TensorType(a.dtype, try broadcast(a.dims, b.dims))]
    }

    public func inferValues(_ operands: Operands) throws -> [SymbolicTensor?] {
        guard let a = operands.value(0), let b = operands.value(1), let shape = try? Shape.broadcast(a.shape, b.shape) else { return [] }
        return [try SymbolicTensor.combining(a, b, shape: shape) { x, y in
            switch kind {
            case .add: return try x + y
            case .sub: return try x - y
            case .mul: return try x * y
            case .div: return x.isKnownNonNegative && y.isKnownNonNegative
                ? try Dim.apply(.floordiv, x, y) : try Dim.apply(.truncdiv, x, y)
            case .mod: return try Dim.apply(.mod, x, y)
            case .min: return try Dim.apply(.min, x, y)
            case .max: return try Dim.apply(.max, x, y)
            case .and, .or, .xor:
                guard let p = x.fixedValue, let q = y.fixedValue else { return nil }
                return .fixed(kind == .and ? p & q : kind == .or ? p | q : p ^ q)
            case .fmod, .pow: return nil
            }
        }]
    }
}

extension SymbolicTensor {
    /// Elementwise combination with broadcasting; nil as soon as one element is unknown.
    static func combining(
        _ a: SymbolicTensor, _ b: SymbolicTensor, shape: [Int], _ body: (Dim, Dim) throws -> Dim?
    ) rethrows -> SymbolicTensor? {
        guard let count = try? Shape.count(shape), count <= maximumCount else { return nil }
        var elements: [Dim] = []
        let strides = Shape.strides(shape)
        let aStrides = Shape.broadcastStrides(a.shape, to: shape)
        let bStrides = Shape.broadcastStrides(b.shape, to: shape)
        for index in 0..<count {
            var x = 0
            var y = 0
            for axis in shape.indices {
                let coordinate = index / strides[axis] % max(shape[axis], 1)
                x += coordinate * aStrides[axis]
                y += coordinate * bStrides[axis]
            }
            guard let element = try body(a.elements[x], b.elements[y]) else { return nil }
            elements.append(element)
        }
        return SymbolicTensor(shape: shape, elements: elements)
    }
}
