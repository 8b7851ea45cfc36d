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
        guard let a = operands.value(0), let b = operands.value(1), let shape = try? Shape.broadcast(a.shape, b.shape),
            let dtype = operands.optional(0)?.type.dtype
        else { return [] }
        let isFloat = dtype.isFloat
        return [SymbolicTensor.combining(a, b, shape: shape) { x, y in
            switch kind {
            case .add: return try x + y
            case .sub: return try x - y
            case .mul: return try x * y
            case .div where isFloat: return x.dividedExactly(by: y)
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
        }?.held(by: dtype)]
    }
}

extension Binary {
    public func evaluate(_ inputs: Inputs) throws -> [Tensor] {
        let output = try output(for: inputs)
        let (a, b) = (try inputs[0], try inputs[1])
        if kind == .pow { return [try evaluatePower(a, b, output)] }
        switch a.dtype {
        case .f64: return [try evaluateReal(Double.self, a, b, output)]
        case .f32, .f16, .bf16: return [try evaluateReal(Float.self, a, b, output)]
        case .u64: return [try evaluateInteger(UInt64.self, a, b, output)]
        default: return [try evaluateInteger(Int64.self, a, b, output)]
        }
    }

    private func evaluateReal<T: ComputeReal>(
        _ type: T.Type, _ a: Tensor, _ b: Tensor, _ output: (dtype: DType, shape: [Int])
    ) throws -> Tensor {
        switch kind {
        case .add: return try mapPairs(a, b, output) { (x: T, y: T) in x + y }
        case .sub: return try mapPairs(a, b, output) { (x: T, y: T) in x - y }
        case .mul: return try mapPairs(a, b, output) { (x: T, y: T) in x * y }
        case .div: return try mapPairs(a, b, output) { (x: T, y: T) in x / y }
        case .fmod: return try mapPairs(a, b, output) { (x: T, y: T) in T.fmod(x, y) }
        case .mod:
            return try mapPairs(a, b, output) { (x: T, y: T) in
                let remainder = T.fmod(x, y)
                return remainder != 0 && (remainder < 0) != (y < 0) ? remainder + y : remainder
            }
        // Comparisons with NaN are false, so the order of the tests lets either NaN through.
        case .min: return try mapPairs(a, b, output) { (x: T, y: T) in x < y || x.isNaN ? x : y }
        case .max: return try mapPairs(a, b, output) { (x: T, y: T) in x > y || x.isNaN ? x : y }
        case .pow, .and, .or, .xor: throw OperatorError(.typeMismatch, "\(kind.rawValue) of \(a.dtype.rawValue)")
        }
    }

    private func evaluateInteger<T: ComputeNumber & FixedWidthInteger>(
        _ type: T.Type, _ a: Tensor, _ b: Tensor, _ output: (dtype: DType, shape: [Int])
    ) throws -> Tensor {
        func checked(_ divisor: T) throws -> T {
            guard divisor != 0 else { throw OperatorError(.unsupported, "\(kind.rawValue) of integers by zero") }
            return divisor
        }
        switch kind {
        case .add: return try mapPairs(a, b, output) { (x: T, y: T) in x &+ y }
        case .sub: return try mapPairs(a, b, output) { (x: T, y: T) in x &- y }
        case .mul: return try mapPairs(a, b, output) { (x: T, y: T) in x &* y }
        // The one overflow, of the lowest integer by -1, wraps like every other.
        case .div: return try mapPairs(a, b, output) { (x: T, y: T) in try x.dividedReportingOverflow(by: checked(y)).partialValue }
        case .fmod: return try mapPairs(a, b, output) { (x: T, y: T) in try x.remainderReportingOverflow(dividingBy: checked(y)).partialValue }
        case .mod:
            return try mapPairs(a, b, output) { (x: T, y: T) in
                let remainder = try x.remainderReportingOverflow(dividingBy: checked(y)).partialValue
                return remainder != 0 && (remainder < 0) != (y < 0) ? remainder &+ y : remainder
            }
        case .min: return try mapPairs(a, b, output) { (x: T, y: T) in Swift.min(x, y) }
        case .max: return try mapPairs(a, b, output) { (x: T, y: T) in Swift.max(x, y) }
        case .and: return try mapPairs(a, b, output) { (x: T, y: T) in x & y }
        case .or: return try mapPairs(a, b, output) { (x: T, y: T) in x | y }
        case .xor: return try mapPairs(a, b, output) { (x: T, y: T) in x ^ y }
        case .pow: throw OperatorError(.typeMismatch, "pow of \(a.dtype.rawValue)")
        }
    }

    /// The base's type is the result's. Integers to non-negative integers are exact and wrap; all else of integers goes through `Double`,
    /// truncated and saturated.
    private func evaluatePower(_ a: Tensor, _ b: Tensor, _ output: (dtype: DType, shape: [Int])) throws -> Tensor {
        let wide: [DType] = [.f64, .i64, .i32, .u64, .u32]
        if a.dtype.isFloat, a.dtype != .f64, !wide.contains(b.dtype) {
            return try mapPairs(a, b, output) { (x: Float, y: Float) in Float.pow(x, y) }
        }
        if a.dtype.isFloat || b.dtype.isFloat {
            return try mapPairs(a, b, output) { (x: Double, y: Double) in Double.pow(x, y) }
        }
        let isUnsigned = a.dtype == .u64
        return try mapPairs(a, b, output) { (x: Int64, y: Int64) in
            guard y >= 0 || b.dtype == .u64 else {
                return Int64.converting(Double.pow(isUnsigned ? Double(UInt64(bitPattern: x)) : Double(x), Double(y)))
            }
            var (result, base, exponent) = (Int64(1), x, UInt64(bitPattern: y))
            while exponent > 0 {
                if exponent & 1 == 1 { result = result &* base }
                base = base &* base
                exponent >>= 1
            }
            return result
        }
    }
}
