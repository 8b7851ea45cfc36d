import CKernels
import GraphIR
import Operators
import Tensors

/// The kernel of a binary operator: f32 through CKernels, integers and bools by plain loops.
func binaryKernel(_ op: Binary, _ request: KernelRequest) -> (any Kernel)? {
    guard let a = request.operand(0), let b = request.operand(1),
        let loop = BroadcastLoop([a.shape, b.shape], to: request.outputs[0].shape)
    else { return nil }
    if request.isF32 {
        if op.kind == .pow { return SquareKernel(request, loop) }
        return ck_binary(op.kind).map { FloatBinaryKernel(name: op.kind.rawValue, function: $0, loop: loop) }
    }
    guard a.dtype == b.dtype, a.dtype == request.outputs[0].dtype else { return nil }
    switch a.dtype {
    case .i64: return IntegerBinaryKernel<Int64>(op.kind, loop)
    case .i32: return IntegerBinaryKernel<Int32>(op.kind, loop)
    case .bool: return IntegerBinaryKernel<UInt8>(op.kind, loop)
    default: return nil
    }
}

extension ck_binary {
    init?(_ kind: Binary.Kind) {
        switch kind {
        case .add: self = ck_add
        case .sub: self = ck_subtract
        case .mul: self = ck_multiply
        case .div: self = ck_divide
        case .min: self = ck_minimum
        case .max: self = ck_maximum
        case .mod, .fmod, .pow, .and, .or, .xor: return nil
        }
    }
}

private struct FloatBinaryKernel: Kernel {
    let name: String
    let function: ck_binary
    let loop: BroadcastLoop

    var inPlaceOperands: [Int] { [0, 1].filter(loop.isElementwise) }

    func run(_ memory: KernelMemory) throws {
        let a = try memory.input(0, as: Float.self)
        let b = try memory.input(1, as: Float.self)
        let output = memory.output(as: Float.self)
        loop.forEachRun(threads: memory.threads) { start, offsets, count in
            ck_binary_f32(function, count, a + offsets.0, loop.steps[0], b + offsets.1, loop.steps[1], output + start)
        }
    }
}

/// `pow(x, 2)`, the one power that graphs spell out often.
private struct SquareKernel: Kernel {
    let name = "square"
    private let loop: BroadcastLoop

    init?(_ request: KernelRequest, _ loop: BroadcastLoop) {
        guard let exponent = request.constant(1), exponent.count == 1, exponent.floats() == [2], loop.steps[0] == 1 else { return nil }
        self.loop = loop
    }

    var inPlaceOperands: [Int] { loop.isElementwise(0) ? [0] : [] }

    func run(_ memory: KernelMemory) throws {
        let x = try memory.input(0, as: Float.self)
        let output = memory.output(as: Float.self)
        loop.forEachRun(threads: memory.threads) { start, offsets, count in ck_unary_f32(ck_square, count, x + offsets.0, output + start) }
    }
}

/// Arithmetic wraps, as the reference has it. A bool is a byte of 0 or 1.
private struct IntegerBinaryKernel<Element: FixedWidthInteger & BitwiseCopyable & Sendable>: Kernel {
    private let kind: Binary.Kind
    private let loop: BroadcastLoop

    init?(_ kind: Binary.Kind, _ loop: BroadcastLoop) {
        switch kind {
        case .add, .sub, .mul, .min, .max, .and, .or, .xor: break
        case .div, .mod, .fmod, .pow: return nil
        }
        self.kind = kind
        self.loop = loop
    }

    var name: String { kind.rawValue }
    var inPlaceOperands: [Int] { [0, 1].filter(loop.isElementwise) }

    func run(_ memory: KernelMemory) throws {
        switch kind {
        case .add: try combine(memory) { $0 &+ $1 }
        case .sub: try combine(memory) { $0 &- $1 }
        case .mul: try combine(memory) { $0 &* $1 }
        case .min: try combine(memory) { min($0, $1) }
        case .max: try combine(memory) { max($0, $1) }
        case .and: try combine(memory) { $0 & $1 }
        case .or: try combine(memory) { $0 | $1 }
        case .xor: try combine(memory) { $0 ^ $1 }
        case .div, .mod, .fmod, .pow: throw OperatorError(.unsupported, "\(kind.rawValue) of integers has no such kernel")
        }
    }

    @inline(__always)
    private func combine(_ memory: KernelMemory, _ function: (Element, Element) -> Element) throws {
        let a = try memory.input(0, as: Element.self)
        let b = try memory.input(1, as: Element.self)
        let output = memory.output(as: Element.self)
        let (aStep, bStep) = (loop.steps[0], loop.steps[1])
        loop.forEachRun(threads: memory.threads) { start, offsets, count in
            let (x, y, out) = (a + offsets.0, b + offsets.1, output + start)
            for index in 0..<count { out[index] = function(x[index * aStep], y[index * bStep]) }
        }
    }
}
