import GraphIR
import Operators
import Tensors

/// Comparisons of f32, i64, i32 and bool.
func compareKernel(_ op: Compare, _ request: KernelRequest) -> (any Kernel)? {
    guard let a = request.operand(0), let b = request.operand(1), a.dtype == b.dtype, request.outputs[0].dtype == .bool,
        let loop = BroadcastLoop([a.shape, b.shape], to: request.outputs[0].shape)
    else { return nil }
    switch a.dtype {
    case .f32: return CompareKernel<Float>(kind: op.kind, loop: loop)
    case .i64: return CompareKernel<Int64>(kind: op.kind, loop: loop)
    case .i32: return CompareKernel<Int32>(kind: op.kind, loop: loop)
    case .bool, .u8: return CompareKernel<UInt8>(kind: op.kind, loop: loop)
    default: return nil
    }
}

private struct CompareKernel<Element: Comparable & BitwiseCopyable & Sendable>: Kernel {
    let kind: Compare.Kind
    let loop: BroadcastLoop
    var name: String { kind.rawValue }

    func run(_ memory: KernelMemory) throws {
        switch kind {
        case .equal: try compare(memory) { $0 == $1 }
        case .not_equal: try compare(memory) { $0 != $1 }
        case .less: try compare(memory) { $0 < $1 }
        case .less_equal: try compare(memory) { $0 <= $1 }
        case .greater: try compare(memory) { $0 > $1 }
        case .greater_equal: try compare(memory) { $0 >= $1 }
        }
    }

    @inline(__always)
    private func compare(_ memory: KernelMemory, _ holds: (Element, Element) -> Bool) throws {
        let a = try memory.input(0, as: Element.self)
        let b = try memory.input(1, as: Element.self)
        let output = memory.output(as: UInt8.self)
        let (aStep, bStep) = (loop.steps[0], loop.steps[1])
        loop.forEachRun(threads: memory.threads) { start, offsets, count in
            let (x, y, out) = (a + offsets.0, b + offsets.1, output + start)
            for index in 0..<count { out[index] = holds(x[index * aStep], y[index * bStep]) ? 1 : 0 }
        }
    }
}
