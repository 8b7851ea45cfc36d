import CKernels
import GraphIR
import Operators
import Tensors

/// Copies that only rearrange or repeat elements: transpose, slice, expand. Each reads the operand with one stride per output dim.
struct CopyKernel: Kernel {
    let name: String
    private let elementSize: Int
    /// Sizes and the operand's strides (in elements) of the dims outside a run, outermost first.
    private let outer: [(size: Int, stride: Int)]
    private let outerCount: Int
    /// The innermost dim.
    private let run: (size: Int, stride: Int)
    /// The operand's element at the start.
    private let offset: Int
    private let count: Int

    private init?(_ name: String, _ request: KernelRequest, strides: [Int], offset: Int) {
        guard let output = request.outputs.first, strides.count == output.rank, let source = request.operand(0),
            source.dtype == output.dtype
        else { return nil }
        var dims: [(size: Int, stride: Int)] = []
        for (size, stride) in zip(output.shape, strides) where size != 1 {
            if let last = dims.last, last.stride == stride * size {
                dims[dims.count - 1] = (last.size * size, stride)
            } else {
                dims.append((size, stride))
            }
        }
        if output.count > 0 {
            // The walk stays inside the operand.
            let low = dims.reduce(offset) { $0 + min(0, $1.stride * ($1.size - 1)) }
            let high = dims.reduce(offset) { $0 + max(0, $1.stride * ($1.size - 1)) }
            guard low >= 0, high < source.count else { return nil }
        }
        self.name = name
        elementSize = output.dtype.size
        run = dims.last ?? (1, 1)
        outer = Array(dims.dropLast())
        outerCount = output.count == 0 ? 0 : output.count / run.size
        count = output.count
        self.offset = offset
    }

    init?(_ op: Transpose, _ request: KernelRequest) {
        guard let shape = request.operand(0)?.shape, op.permutation.allSatisfy(shape.indices.contains) else { return nil }
        let strides = Shape.strides(shape)
        self.init("transpose", request, strides: op.permutation.map { strides[$0] }, offset: 0)
    }

    init?(_ op: Slice, _ request: KernelRequest) {
        guard let shape = request.operand(0)?.shape, let output = request.outputs.first?.shape,
            let starts = request.constant(1)?.integers(), let ends = request.constant(2)?.integers(), starts.count == op.axes.count,
            ends.count == op.axes.count
        else { return nil }
        var steps = [Int64](repeating: 1, count: op.axes.count)
        if request.operand(3) != nil {
            guard let given = request.constant(3)?.integers(), given.count == op.axes.count else { return nil }
            steps = given
        }
        var strides = Shape.strides(shape)
        var offset = 0
        for (position, axis) in op.axes.enumerated() {
            guard let axis = try? Shape.normalize(axis: axis, rank: shape.count) else { return nil }
            let (first, count) = Slice.bounds(
                size: shape[axis], start: Int(starts[position]), end: Int(ends[position]), step: Int(steps[position]))
            guard axis < output.count, count == output[axis] else { return nil }
            offset += count == 0 ? 0 : first * strides[axis]
            // Where one element is left its step does not matter, and may be huge.
            strides[axis] = count > 1 ? strides[axis] * Int(steps[position]) : strides[axis]
        }
        self.init("slice", request, strides: strides, offset: offset)
    }

    init?(expanding request: KernelRequest) {
        guard let shape = request.operand(0)?.shape, let output = request.outputs.first?.shape, shape.count <= output.count else { return nil }
        self.init("expand", request, strides: Shape.broadcastStrides(shape, to: output), offset: 0)
    }

    func run(_ memory: KernelMemory) throws {
        switch elementSize {
        case 1: try copy(memory, UInt8.self)
        case 2: try copy(memory, UInt16.self)
        case 4: try copy(memory, UInt32.self)
        default: try copy(memory, UInt64.self)
        }
    }

    private func copy<Element: BitwiseCopyable>(_ memory: KernelMemory, _ type: Element.Type) throws {
        let source = try memory.input(0, as: type) + offset
        let target = memory.output(as: type)
        guard count > 0 else { return }
        let rows = max(1, 16_384 / run.size)
        let (size, stride) = run
        if stride != 1, stride != 0, MemoryLayout<Element>.size == 4, let last = outer.last, last.stride == 1 {
            return transpose(UnsafeRawPointer(source), UnsafeMutableRawPointer(target), rows: last.size, memory.threads)
        }
        WorkerPool.parallelFor(threads: memory.threads, count: (outerCount + rows - 1) / rows) { piece, _ in
            for row in piece * rows..<min((piece + 1) * rows, outerCount) {
                let from = source + position(row, outer)
                let to = target + row * size
                switch stride {
                case 1: to.update(from: from, count: size)
                case 0: to.update(repeating: from.pointee, count: size)
                default: for index in 0..<size { to[index] = from[index * stride] }
                }
            }
        }
    }

    /// The last two dims swap places: matrices whose columns become rows.
    private func transpose(_ source: UnsafeRawPointer, _ target: UnsafeMutableRawPointer, rows: Int, _ threads: Int) {
        let matrices = Array(outer.dropLast())
        let from = source.assumingMemoryBound(to: Float.self)
        let to = target.assumingMemoryBound(to: Float.self)
        WorkerPool.parallelFor(threads: threads, count: outerCount / rows) { matrix, _ in
            ck_transpose_f32(run.size, rows, from + position(matrix, matrices), run.stride, to + matrix * rows * run.size, run.size)
        }
    }

    /// The operand's element where a row starts.
    private func position(_ row: Int, _ dims: [(size: Int, stride: Int)]) -> Int {
        var rest = row
        var result = 0
        for dim in dims.reversed() {
            result += rest % dim.size * dim.stride
            rest /= dim.size
        }
        return result
    }
}
