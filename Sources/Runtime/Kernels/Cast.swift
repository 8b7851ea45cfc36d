import CKernels
import GraphIR
import Operators
import Tensors

/// The conversions that graphs do at run time; nil for the rest.
func castKernel(_ request: KernelRequest) -> (any Kernel)? {
    guard let source = request.operand(0), let loop = BroadcastLoop([source.shape], to: request.outputs[0].shape) else { return nil }
    switch (source.dtype, request.outputs[0].dtype) {
    case (.f16, .f32):
        return RunKernel<UInt16, Float>(loop: loop) { ck_f16_to_f32($0, $1, $2) }
    case (.bf16, .f32):
        return RunKernel<UInt16, Float>(loop: loop) { ck_bf16_to_f32($0, $1, $2) }
    case (.f32, .f16):
        return RunKernel<Float, UInt16>(loop: loop) { ck_f32_to_f16($0, $1, $2) }
    case (.f32, .bf16):
        return RunKernel<Float, UInt16>(loop: loop) { ck_f32_to_bf16($0, $1, $2) }
    case (.i64, .f32): return ElementKernel<Int64, Float>(loop: loop) { Float($0) }
    case (.i32, .f32): return ElementKernel<Int32, Float>(loop: loop) { Float($0) }
    case (.u8, .f32):
        return RunKernel<UInt8, Float>(loop: loop) { ck_dequantize_u8($0, $1, 1, 0, $2) }
    case (.i8, .f32):
        return RunKernel<Int8, Float>(loop: loop) { ck_dequantize_s8($0, $1, 1, 0, $2) }
    case (.bool, .f32): return ElementKernel<UInt8, Float>(loop: loop) { $0 != 0 ? 1 : 0 }
    case (.bool, .i64): return ElementKernel<UInt8, Int64>(loop: loop) { $0 != 0 ? 1 : 0 }
    case (.bool, .i32): return ElementKernel<UInt8, Int32>(loop: loop) { $0 != 0 ? 1 : 0 }
    case (.i64, .bool): return ElementKernel<Int64, UInt8>(loop: loop) { $0 != 0 ? 1 : 0 }
    case (.i32, .bool): return ElementKernel<Int32, UInt8>(loop: loop) { $0 != 0 ? 1 : 0 }
    case (.f32, .bool): return ElementKernel<Float, UInt8>(loop: loop) { $0 != 0 ? 1 : 0 }
    case (.i64, .i32): return ElementKernel<Int64, Int32>(loop: loop) { Int32(truncatingIfNeeded: $0) }
    case (.i32, .i64): return ElementKernel<Int32, Int64>(loop: loop) { Int64($0) }
    case (.f32, .i64): return ElementKernel<Float, Int64>(loop: loop) { Tensor.saturating(Double($0)) }
    default: return nil
    }
}

/// Converts runs by a C function.
private struct RunKernel<Source: BitwiseCopyable & Sendable, Target: BitwiseCopyable & Sendable>: Kernel {
    let loop: BroadcastLoop
    let convert: @Sendable (Int, UnsafePointer<Source>, UnsafeMutablePointer<Target>) -> Void
    var name: String { "cast" }

    func run(_ memory: KernelMemory) throws {
        let x = try memory.input(0, as: Source.self)
        let output = memory.output(as: Target.self)
        loop.forEachRun(threads: memory.threads) { start, offsets, count in convert(count, x + offsets.0, output + start) }
    }
}
