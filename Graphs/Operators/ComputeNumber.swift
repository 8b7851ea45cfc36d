import Foundation
import Tensors

/// The four number types that evaluations compute in: `Float` for f32, f16 and bf16, `Double` for f64, `UInt64` for u64 and `Int64` for
/// all other integers (and bools). Results round, or wrap, back to the tensor's type.
protocol ComputeNumber: BitwiseCopyable, Comparable, Numeric {
    /// Elements of that type need no conversion.
    static func isStored(as dtype: DType) -> Bool
    static func elements(of tensor: Tensor) -> [Self]
    static func tensor(_ values: [Self], dtype: DType, shape: [Int]) throws -> Tensor
    static func converting(_ value: Double) -> Self
    static func wrappingAdd(_ a: Self, _ b: Self) -> Self
    static func wrappingMultiply(_ a: Self, _ b: Self) -> Self
    /// Before every other number, and after.
    static var lowest: Self { get }
    static var highest: Self { get }
    var isNotANumber: Bool { get }
}

extension ComputeNumber {
    /// The elements of a tensor, in place where they are stored as this type.
    static func read<Result>(_ tensor: Tensor, _ body: (UnsafeBufferPointer<Self>) throws -> Result) throws -> Result {
        if isStored(as: tensor.dtype) { return try tensor.withElements(of: Self.self, body) }
        return try elements(of: tensor).withUnsafeBufferPointer(body)
    }

    /// A tensor whose elements `fill` writes, all of them.
    static func make(_ dtype: DType, _ shape: [Int], fill: (UnsafeMutableBufferPointer<Self>) throws -> Void) throws -> Tensor {
        if isStored(as: dtype) {
            return try Tensor(dtype: dtype, shape: shape) { bytes in try fill(bytes.bindMemory(to: Self.self)) }
        }
        let count = try Shape.count(shape)
        let values = try [Self](unsafeUninitializedCapacity: count) { target, initialized in
            try fill(UnsafeMutableBufferPointer(rebasing: target[..<count]))
            initialized = count
        }
        return try tensor(values, dtype: dtype, shape: shape)
    }
}

extension Int64: ComputeNumber {
    static func isStored(as dtype: DType) -> Bool { dtype == .i64 }
    static func elements(of tensor: Tensor) -> [Int64] { tensor.integers() }
    static func tensor(_ values: [Int64], dtype: DType, shape: [Int]) throws -> Tensor {
        try Tensor(integers: values, dtype: dtype, shape: shape)
    }
    static func converting(_ value: Double) -> Int64 { Tensor.saturating(value) }
    static func wrappingAdd(_ a: Int64, _ b: Int64) -> Int64 { a &+ b }
    static func wrappingMultiply(_ a: Int64, _ b: Int64) -> Int64 { a &* b }
    static var lowest: Int64 { .min }
    static var highest: Int64 { .max }
    var isNotANumber: Bool { false }
}

extension UInt64: ComputeNumber {
    static func isStored(as dtype: DType) -> Bool { dtype == .u64 }
    static func elements(of tensor: Tensor) -> [UInt64] { tensor.integers().map { UInt64(bitPattern: $0) } }
    static func tensor(_ values: [UInt64], dtype: DType, shape: [Int]) throws -> Tensor {
        try Tensor(integers: values.map { Int64(bitPattern: $0) }, dtype: dtype, shape: shape)
    }
    static func converting(_ value: Double) -> UInt64 {
        if !(value > 0) { return 0 }
        return value >= 0x1p64 ? .max : UInt64(value)
    }
    static func wrappingAdd(_ a: UInt64, _ b: UInt64) -> UInt64 { a &+ b }
    static func wrappingMultiply(_ a: UInt64, _ b: UInt64) -> UInt64 { a &* b }
    static var lowest: UInt64 { .min }
    static var highest: UInt64 { .max }
    var isNotANumber: Bool { false }
}

/// The two of them that are floating point, with the functions of the C library.
protocol ComputeReal: ComputeNumber, BinaryFloatingPoint {
    static func exp(_ x: Self) -> Self
    static func log(_ x: Self) -> Self
    static func log1p(_ x: Self) -> Self
    static func sin(_ x: Self) -> Self
    static func cos(_ x: Self) -> Self
    static func tanh(_ x: Self) -> Self
    static func erf(_ x: Self) -> Self
    static func pow(_ x: Self, _ y: Self) -> Self
    static func fmod(_ x: Self, _ y: Self) -> Self
}

extension Float: ComputeReal {
    static func isStored(as dtype: DType) -> Bool { dtype == .f32 }
    static func elements(of tensor: Tensor) -> [Float] { tensor.floats() }
    static func tensor(_ values: [Float], dtype: DType, shape: [Int]) throws -> Tensor {
        try Tensor(floats: values, dtype: dtype, shape: shape)
    }
    static func converting(_ value: Double) -> Float { Float(value) }
    static func wrappingAdd(_ a: Float, _ b: Float) -> Float { a + b }
    static func wrappingMultiply(_ a: Float, _ b: Float) -> Float { a * b }
    static var lowest: Float { -.infinity }
    static var highest: Float { .infinity }
    var isNotANumber: Bool { isNaN }
    static func exp(_ x: Float) -> Float { Foundation.exp(x) }
    static func log(_ x: Float) -> Float { Foundation.log(x) }
    static func log1p(_ x: Float) -> Float { Foundation.log1p(x) }
    static func sin(_ x: Float) -> Float { Foundation.sin(x) }
    static func cos(_ x: Float) -> Float { Foundation.cos(x) }
    static func tanh(_ x: Float) -> Float { Foundation.tanh(x) }
    static func erf(_ x: Float) -> Float { Foundation.erf(x) }
    static func pow(_ x: Float, _ y: Float) -> Float { Foundation.pow(x, y) }
    static func fmod(_ x: Float, _ y: Float) -> Float { Foundation.fmod(x, y) }
}

extension Double: ComputeReal {
    static func isStored(as dtype: DType) -> Bool { dtype == .f64 }
    static func elements(of tensor: Tensor) -> [Double] { tensor.doubles() }
    static func tensor(_ values: [Double], dtype: DType, shape: [Int]) throws -> Tensor {
        try Tensor(doubles: values, dtype: dtype, shape: shape)
    }
    static func converting(_ value: Double) -> Double { value }
    static func wrappingAdd(_ a: Double, _ b: Double) -> Double { a + b }
    static func wrappingMultiply(_ a: Double, _ b: Double) -> Double { a * b }
    static var lowest: Double { -.infinity }
    static var highest: Double { .infinity }
    var isNotANumber: Bool { isNaN }
    static func exp(_ x: Double) -> Double { Foundation.exp(x) }
    static func log(_ x: Double) -> Double { Foundation.log(x) }
    static func log1p(_ x: Double) -> Double { Foundation.log1p(x) }
    static func sin(_ x: Double) -> Double { Foundation.sin(x) }
    static func cos(_ x: Double) -> Double { Foundation.cos(x) }
    static func tanh(_ x: Double) -> Double { Foundation.tanh(x) }
    static func erf(_ x: Double) -> Double { Foundation.erf(x) }
    static func pow(_ x: Double, _ y: Double) -> Double { Foundation.pow(x, y) }
    static func fmod(_ x: Double, _ y: Double) -> Double { Foundation.fmod(x, y) }
}
