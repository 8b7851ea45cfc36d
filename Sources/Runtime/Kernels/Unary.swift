import CKernels
import GraphIR
import Operators
import Tensors

/// The kernel of a unary operator; nil for the functions that graphs hardly use.
func unaryKernel(_ op: Unary, _ request: KernelRequest) -> (any Kernel)? {
    guard let x = request.operand(0), let loop = BroadcastLoop([x.shape], to: request.outputs[0].shape) else { return nil }
    switch (op.kind, x.dtype) {
    case (.not, .bool): return ElementKernel<UInt8, UInt8>(name: "not", loop: loop) { $0 == 0 ? 1 : 0 }
    case (.is_nan, .f32): return ElementKernel<Float, UInt8>(name: "is_nan", loop: loop) { $0.isNaN ? 1 : 0 }
    case (.is_inf, .f32): return ElementKernel<Float, UInt8>(name: "is_inf", loop: loop) { $0.isInfinite ? 1 : 0 }
    default: return UnaryKernel(op, request, loop)
    }
}

/// Functions of one f32 operand that CKernels has.
private struct UnaryKernel: Kernel {
    let name: String
    private let function: ck_unary
    private let loop: BroadcastLoop

    init?(_ op: Unary, _ request: KernelRequest, _ loop: BroadcastLoop) {
        guard request.isF32, let function = ck_unary(op.kind) else { return nil }
        name = op.kind.rawValue
        self.function = function
        self.loop = loop
    }

    var inPlaceOperands: [Int] { [0] }

    func run(_ memory: KernelMemory) throws {
        let x = try memory.input(0, as: Float.self)
        let output = memory.output(as: Float.self)
        loop.forEachRun(threads: memory.threads) { start, offsets, count in ck_unary_f32(function, count, x + offsets.0, output + start) }
    }
}

extension ck_unary {
    init?(_ kind: Unary.Kind) {
        switch kind {
        case .abs: self = ck_absolute
        case .neg: self = ck_negate
        case .exp: self = ck_exp
        case .log: self = ck_log
        case .sqrt: self = ck_sqrt
        case .rsqrt: self = ck_rsqrt
        case .reciprocal: self = ck_reciprocal
        case .tanh: self = ck_tanh
        case .sigmoid: self = ck_sigmoid
        case .erf: self = ck_erf
        case .relu: self = ck_relu
        case .gelu: self = ck_gelu
        case .gelu_tanh: self = ck_gelu_tanh
        case .silu: self = ck_silu
        case .sign, .floor, .ceil, .round, .sin, .cos, .softplus, .not, .is_nan, .is_inf: return nil
        }
    }

    init(_ activation: Activation) {
        switch activation {
        case .none: self = ck_identity
        case .relu: self = ck_relu
        case .gelu: self = ck_gelu
        case .gelu_tanh: self = ck_gelu_tanh
        case .tanh: self = ck_tanh
        case .sigmoid: self = ck_sigmoid
        case .silu: self = ck_silu
        }
    }
}
