import CKernels
import GraphIR
import Operators
import Tensors

/// Sums, means, extremes and norms of f32 over neighbouring axes: the operand is `[outer, reduced, inner]`.
struct ReduceKernel: Kernel {
    private let kind: Reduce.Kind
    private let outer: Int
    private let reduced: Int
    private let inner: Int

    init?(_ op: Reduce, _ request: KernelRequest) {
        guard request.isF32, let shape = request.operand(0)?.shape,
            let axes = try? op.axes.map({ try Shape.normalize(axis: $0, rank: shape.count) }).sorted(), let first = axes.first,
            let last = axes.last, axes == Array(first...last)
        else { return nil }
        switch op.kind {
        case .sum, .mean, .max, .min: break
        // Along other axes than the last these want a second pass over the sums.
        case .l2 where last == shape.count - 1: break
        default: return nil
        }
        kind = op.kind
        outer = shape[..<first].reduce(1, *)
        reduced = shape[first...last].reduce(1, *)
        inner = shape[(last + 1)...].reduce(1, *)
        guard reduced > 0 else { return nil }
    }

    var name: String { kind.rawValue }

    func run(_ memory: KernelMemory) throws {
        let x = try memory.input(0, as: Float.self)
        let output = memory.output(as: Float.self)
        if inner == 1 { rows(x, output, memory.threads) } else { columns(x, output, memory.threads) }
    }

    private func rows(_ x: UnsafePointer<Float>, _ output: UnsafeMutablePointer<Float>, _ threads: Int) {
        let block = max(1, 16_384 / reduced)
        WorkerPool.parallelFor(threads: threads, count: (outer + block - 1) / block) { piece, _ in
            for row in piece * block..<min((piece + 1) * block, outer) {
                let values = x + row * reduced
                switch kind {
                case .mean: output[row] = ck_sum_f32(reduced, values) / Float(reduced)
                case .max: output[row] = ck_max_f32(reduced, values)
                case .min: output[row] = ck_min_f32(reduced, values)
                case .l2: output[row] = ck_norm2_f32(reduced, values)
                default: output[row] = ck_sum_f32(reduced, values)
                }
            }
        }
    }

    private func columns(_ x: UnsafePointer<Float>, _ output: UnsafeMutablePointer<Float>, _ threads: Int) {
        let function = kind == .max ? ck_maximum : kind == .min ? ck_minimum : ck_add
        WorkerPool.parallelFor(threads: threads, count: outer) { index, _ in
            let source = x + index * reduced * inner
            let target = output + index * inner
            target.update(from: source, count: inner)
            for row in 1..<max(reduced, 1) { ck_binary_f32(function, inner, target, 1, source + row * inner, 1, target) }
            if kind == .mean {
                var divisor = Float(reduced)
                ck_binary_f32(ck_divide, inner, target, 1, &divisor, 0, target)
            }
        }
    }
}
